"""What the files tell of other devices: which are linked, and their names as told last.

Reads known.json, with or without a daemon; a damaged file is as if it held nothing.
homi-mailbox(5) has the fields.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from homi.address import Device, is_name
from homi.far import FarName, FarRow, untold
from homi.links.book import Book, over
from homi.links.known import Told
from homi.mail.places import linked
from homi.store.whole import read_plain


def devices(root: Path) -> list[Device]:
    """The linked devices, by name."""
    return sorted(linked(root, _unsaid))


def far(root: Path) -> list[FarRow]:
    """Every linked device with its names, as they were told last."""
    told = _read(root / "known.json").get("devices")
    rows = told if isinstance(told, dict) else {}
    ways = over(Book.read(root))
    return [
        _row(device, rows.get(device), ways.get(device, "")) for device in devices(root)
    ]


def addresses(root: Path) -> Iterator[str]:
    """Every name of every linked device, with the device."""
    for row in far(root):
        yield from (f"{one.name}@{row.device}" for one in row.names)
        yield f"owner@{row.device}"


def _unsaid(_text: str) -> None:
    """Who completes a line, or lists all devices, is told by other verbs."""


def _row(device: str, raw: object, via: str) -> FarRow:
    """What is known of one device."""
    try:
        told = msgspec.convert(raw or {}, Told)
    except msgspec.ValidationError:
        told = Told()
    names = [
        FarName(name, one.generation, one.live)
        for name, one in sorted(told.names.items())
        if is_name(name)
    ]
    why = untold(via) if via else "no daemon runs"
    return FarRow(device, "unknown", False, told.at, why, names, via)


def _read(path: Path) -> dict[str, Any]:
    """The object in a file; an empty one where there is none."""
    try:
        found = msgspec.json.decode(read_plain(path))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
