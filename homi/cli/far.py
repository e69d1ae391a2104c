"""The names of other devices: asked of the daemon, else as the files have them.

Owns how they are shown beside, or instead of, those of this device.  homi-ls(1).
"""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from homi.address import Address, Device, nearest, parse_name
from homi.cli import output
from homi.cli.mail import Mail
from homi.connection import Connection
from homi.dial import Absent, Lost
from homi.envelope import MessageId
from homi.errors import NoSuchDevice, Unavailable, not_linked
from homi.far import FarName, FarRow, FarRows, Steps
from homi.mail import neighbours
from homi.render import Cell, fields
from homi.reports import Listing
from homi.requests import Far, FarTrace, List
from homi.store.places import queue_of


def need_names(row: FarRow) -> None:
    """Unavailable (69) for a device behind another, of which no names are known."""
    if row.via and not row.names:
        there = f"on {row.device}: homi ls"
        hint = f"{there}; mail to NAME@{row.device} goes all the same"
        raise Unavailable(f"{row.device} is {row.why}", hint=hint)


def ask(client: Connection, device: str | None) -> list[FarRow]:
    """That device, or every linked one, as it answers the daemon now."""
    return client.call(Far(i=1, device=device), FarRows).rows


def from_files(root: Path, device: str | None) -> list[FarRow]:
    """The same as it was told last, for when no daemon runs; 68 where it is none."""
    rows = neighbours.far(root)
    if device is None:
        return rows
    wanted = parse_name(device)
    found = [row for row in rows if row.device == wanted]
    if not found:
        near = nearest(wanted, [row.device for row in rows])
        raise not_linked(wanted, "homi link ls shows them", near)
    return found


def tell(rows: Iterable[FarRow]) -> None:
    """On stderr: how old it is what stands of a device that did not answer."""
    for row in rows:
        if row.asked:
            continue
        age = output.when(row.at)
        ago = " ago" if output.terminal() else ""
        known = f"known as of {age}{ago}" if row.at else "nothing is known of it"
        # Of one behind another it is no matter how the link is: nobody is asked.
        known_why = row.why and (row.via or row.state == "unknown")
        state = "" if known_why else row.state
        why = ": ".join(filter(None, (state, row.why)))
        output.note(f"{row.device} ({why}): {known}")


def as_json(rows: Iterable[FarRow]) -> list[dict[str, object]]:
    """Each name for a program, with its device and how this was learned."""
    return [
        {
            "kind": "far",
            **fields(name),
            "device": row.device,
            "asked": row.asked,
            "at": row.at,
        }
        for row in rows
        for name in row.names
    ]


def cells(rows: Iterable[FarRow]) -> list[tuple[Cell, ...]]:
    """Each name as a row of ls, with its device behind it."""
    return [_cells(row, name) for row in rows for name in row.names]


class FarWhois(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of an address on another device; its fields are those of the
    JSON form."""

    address: str
    name: str
    device: str
    resolved: str = "device"
    state: str  # of the name there: live, held, or unknown where it was not told of
    link: str  # the state of the link
    asked: bool  # the device answered just now
    at: str  # RFC 3339: when this was true
    why: str  # why it did not answer
    via: str = ""  # the device its mail goes over
    generation: int = 0
    mirror: str = ""  # its name here
    note: str = ""  # why that is not the one it has there
    waiting: int = 0  # messages here for the device
    oldest: str = ""  # RFC 3339


def whois(mail: Mail, wanted: Address, *, as_json: bool) -> None:
    """Print what is known of an address on another device."""
    found = _gather(mail, wanted, Device(wanted.device or ""))
    if as_json:
        output.json_line(found)
        return
    ago = " ago" if output.terminal() else ""
    since = f"{output.when(found.at)}{ago}" if found.at else "never"
    since = "just now" if found.asked else since
    rows: list[tuple[Cell, Cell]] = [
        ("address", found.address),
        ("resolved", f"{found.resolved} {found.device}"),
        ("state", found.state),
        ("link", ": ".join(filter(None, (found.link, found.why)))),
        ("known", since),
        ("mirror", " ".join(filter(None, (found.mirror, found.note)))),
        ("waiting", f"{found.waiting}, the oldest {output.when(found.oldest)}{ago}"),
    ]
    if not found.waiting:
        rows[-1] = ("waiting", 0)
    output.table(("", ""), [row for row in rows if row[1] != ""])


def _gather(mail: Mail, wanted: Address, device: Device) -> FarWhois:
    """All that is known of it, put together."""
    address = str(wanted)
    try:
        with Connection(mail.root) as client:
            row = ask(client, device)[0]
            mirrors = client.call(List(i=1), Listing).mirrors
    except Absent:
        row, mirrors = from_files(mail.root, device)[0], []
        output.note("no daemon runs: no other device is asked (homi start)")
    name = next((one for one in row.names if one.name == wanted.name), None)
    mirror = next((one for one in mirrors if one.to == address), None)
    waiting, oldest = mail.waiting([queue_of(device)])[queue_of(device)]
    state = "unknown" if name is None else "live" if name.live else "held"
    return FarWhois(
        address=address,
        name=wanted.name,
        device=device,
        state=state,
        link=row.state,
        asked=row.asked,
        at=row.at,
        why=row.why,
        via=row.via,
        generation=name.generation if name else 0,
        mirror=mirror.name if mirror else "",
        note=mirror.note if mirror else "",
        waiting=waiting,
        oldest=oldest,
    )


def trace(root: Path, sent: list[tuple[Device, MessageId]]) -> list[Steps]:
    """What each device tells of a message that was sent there, within a time."""
    if not sent:
        return []
    try:
        with Connection(root) as client:
            return [_steps(client, device, message) for device, message in sent]
    except (Absent, Lost):
        return [Steps(device, why="no daemon runs") for device, _ in sent]


def steps_json(told: Iterable[Steps]) -> list[dict[str, object]]:
    """Each step for a program, with the device that told it."""
    return [
        {**fields(step), "device": steps.device}
        for steps in told
        for step in steps.steps
    ]


def _steps(client: Connection, device: Device, message: MessageId) -> Steps:
    """What one device tells; why it does not."""
    try:
        return client.call(FarTrace(i=1, device=device, id=message), Steps)
    except NoSuchDevice as error:
        return Steps(device, why=error.text)


def _cells(row: FarRow, name: FarName) -> tuple[Cell, ...]:
    """The cells of a name there; whether its socket answers is not known here."""
    state = "live" if name.live else "held"
    note = "" if row.asked else "as it was told last"
    address = f"{name.name}@{row.device}"
    return address, "", state, name.pending, "", name.status, "", "", note
