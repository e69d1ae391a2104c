"""Which mailboxes a state root has, and which one an address means.

Owns the reading of names.json beside the daemon, and what waits in pickup/.  Reads
only, with or without a daemon.  homi-address(7) has the rules.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from homi import config, paths
from homi.address import (
    BUILT_IN,
    SELF,
    Device,
    Name,
    is_name,
    nearest,
    parse_address,
)
from homi.envelope import Msg, decode_msg
from homi.errors import (
    HomiError,
    NoSuchDevice,
    NoSuchName,
    StorageFailed,
    not_linked,
)
from homi.routing import Facts, Place, fronted_by, resolve
from homi.store import pickup
from homi.store.disk import RealDisk
from homi.store.lines import Unreadable
from homi.store.places import device_of, is_queue, places, queue_of
from homi.store.whole import read_plain, remedy


class Book(NamedTuple):
    """The names in names.json, with their fields as they stand."""

    claims: dict[Name, dict[str, Any]]
    aliases: dict[Name, dict[str, Any]]
    released: dict[Name, dict[str, Any]]
    mirrors: dict[str, dict[str, Any]]  # by full address

    def fronted(self, name: Name) -> bool:
        """Whether the sessions of that claim go by another name."""
        return self.claims.get(name, {}).get("front") is True

    def room(self, name: Name) -> bool:
        """Whether the name is a room's."""
        return self.claims.get(name, {}).get("room") is True

    def leads_to(self, name: Name) -> str | None:
        """The address that name leads to as an alias."""
        to = self.aliases.get(name, {}).get("to")
        return to if isinstance(to, str) else None

    def mirror(self, name: Name) -> str | None:
        """The address of the one mirror that may be listed under that name here."""
        found = [
            to
            for to in self.mirrors
            if name in (to.partition("@")[0], to.replace("@", "."))
        ]
        return found[0] if len(found) == 1 else None

    def public(self, name: Name) -> Name:
        """The name that a session so called has towards others."""
        front = fronted_by(name)
        behind = front is not None and name not in self.claims and self.fronted(front)
        return front if front is not None and behind else name


class Places:
    """The names and mailboxes under one state root."""

    def __init__(self, root: Path, note: Callable[[str], None]) -> None:
        """Nothing is read yet.  A root others can reach is refused (78).

        note is told what is damaged and hides no other mail.
        """
        if root.exists():
            paths.check_private(root)
        self.root = root
        self.note = note

    @property
    def device(self) -> Device:
        """The name of this device, as the settings have it now."""
        return config.load(paths.config_file()).device_name()

    def claimed(self) -> list[Name]:
        """The names that are claimed here, the built-in ones with them."""
        return sorted({*BUILT_IN, *self.book().claims})

    def book(self) -> Book:
        """What names.json holds; StorageFailed (74) where it is damaged."""
        path = self.root / "names.json"
        try:
            raw = msgspec.json.decode(read_plain(path), type=dict[str, Any])
        except FileNotFoundError:
            raw = {}
        except OSError as error:
            raise StorageFailed(
                f"cannot read {path}: {error.strerror}",
                hint=remedy(os.fspath(path), error),
            ) from error
        except (ValueError, RecursionError) as error:
            raise StorageFailed(
                f"cannot read {path}: it is damaged",
                hint="homi start sets it aside and says what it held",
            ) from error
        claims, aliases, released = (
            _entries(raw.get(part)) for part in ("claims", "aliases", "released")
        )
        return Book(claims, aliases, released, _mirrors(raw.get("mirrors")))

    def listed(self) -> list[Name]:
        """As claimed(); where that cannot be read, the names that have a mailbox: one
        damaged file hides no mail.  Notes it."""
        try:
            return self.claimed()
        except StorageFailed as error:
            self.note(error.text)
            return sorted({*BUILT_IN, *self.mailboxes()})

    def mailboxes(self) -> list[Name]:
        """The names that have a mailbox on disk, claimed or not."""
        return [place for place in self.places() if device_of(place) is None]

    def queues(self) -> list[Name]:
        """The out queues on disk, of linked devices and of others."""
        return [place for place in self.places() if device_of(place) is not None]

    def places(self) -> list[Name]:
        """Every mailbox and out queue on disk."""
        return places(RealDisk(), str(self.root))

    def devices(self) -> list[Device]:
        """The linked devices; none where links.json cannot be read, which is noted."""
        return linked(self.root, self.note)

    def place(self, text: str) -> Name:
        """The place to read that an address means: a mailbox, also one of a released
        name, or an out queue, which is given as @DEVICE."""
        if is_queue(text.lower()):
            return self._queue(Name(text.lower()))
        book = self.shown()
        left = {name for name in self.mailboxes() if name not in book.aliases}
        try:
            found = self._resolve(text, {*self.listed(), *left}, book)
        except NoSuchName as error:
            if f"@{text.lower()}" not in {
                *self.queues(),
                *map(queue_of, self.devices()),
            }:
                raise
            hint = (
                f"{text.lower()} is a device: what waits for it is in @{text.lower()}"
            )
            raise NoSuchName(error.text, hint=hint) from error
        if not found.local:
            raise NoSuchDevice(
                f"{found.to} is on another device, its mailbox is there",
                hint=f"homi queue {found.name} shows what waits to go there",
            )
        return found.name

    def recipient(self, text: str) -> str:
        """The claimed name that an address means, with its device where that is
        another; 67 or 68 with a hint where none."""
        book = self.book()
        return self._resolve(text, {*BUILT_IN, *book.claims}, book).to

    def writer(self, text: str | None) -> tuple[Name | None, str | None]:
        """The name and device that mail from an address has: no device where that is
        not given, an empty one where it is this one."""
        if text is None:
            return None, None
        name, device = parse_address(text)
        return name, "" if device in (self.device, SELF) else device

    def shown(self) -> Book:
        """As book(); where that cannot be read, as if it held nothing."""
        try:
            return self.book()
        except StorageFailed:
            return Book({}, {}, {}, {})

    def _queue(self, place: Name) -> Name:
        """The out queue of that place; 68 where nothing is linked and none is left."""
        known = {*self.queues(), *map(queue_of, self.devices())}
        if place not in known:
            near = nearest(place, known)
            raise not_linked(place[1:], "homi link ls shows them", near)
        return place

    def _resolve(self, text: str, known: set[Name], book: Book) -> Place:
        """The one of known that an address means."""
        return resolve(
            parse_address(text),
            Facts(
                device=self.device,
                claimed=known.__contains__,
                fronted=book.fronted,
                live=lambda _: False,
                alias=book.leads_to,
                known=lambda: [*known, *book.aliases],
                devices=self.devices,
                mirror=book.mirror,
            ),
        )

    def spooled(self) -> Iterator[tuple[pickup.Spooled, Msg]]:
        """What waits in pickup/, oldest first; notes each file that is no message."""
        for path, found in pickup.scan(self.root):
            if isinstance(found, Unreadable):
                self.note(f"{path}: {found.text}")
            elif (msg := readable(found.msg)) is None:
                self.note(f"{path}: no message")
            else:
                yield found, msg

    def spooled_for(self, place: Name) -> Iterator[tuple[pickup.Spooled, Msg]]:
        """What waits in pickup/ for that place, as addresses lead now."""
        led = dict[str, Name | None]()
        for found, msg in self.spooled():
            if msg.to not in led:
                led[msg.to] = self._led(msg.to)
            if led[msg.to] == place:
                yield found, msg

    def _led(self, text: str) -> Name | None:
        """The place that mail to an address goes to; None: it will be refused."""
        book = self.shown()
        left = {name for name in self.mailboxes() if name not in book.aliases}
        try:
            return self._resolve(text, {*self.listed(), *left}, book).name
        except HomiError:
            return None


def readable(raw: msgspec.Raw) -> Msg | None:
    """What the sender wrote; None where it is no message."""
    try:
        return decode_msg(raw)
    except (ValueError, RecursionError):
        return None


def _mirrors(raw: object) -> dict[str, dict[str, Any]]:
    """The readable mirrors, by address."""
    items = raw.items() if isinstance(raw, dict) else []
    return {
        to: entry
        for to, entry in items
        if all(map(is_name, to.split("@", 1))) and isinstance(entry, dict)
    }


def linked(root: Path, note: Callable[[str], None]) -> list[Device]:
    """The devices that links.json has; none where it cannot be read, which is noted."""
    path = root / "links.json"
    try:
        raw = msgspec.json.decode(read_plain(path), type=dict[str, Any])
    except FileNotFoundError:
        return []
    except (OSError, ValueError, RecursionError):
        note(f"cannot read {path}")
        return []
    return [Device(device) for device in _entries(raw.get("devices"))]


def _entries(raw: object) -> dict[Name, dict[str, Any]]:
    """The readable ones of a part of names.json."""
    items = raw.items() if isinstance(raw, dict) else []
    return {
        Name(name): entry
        for name, entry in items
        if is_name(name) and isinstance(entry, dict)
    }
