"""Names of other devices that are listed here, as names.json keeps them.

Owns which there are, and the local name each may be listed under; where mail for one
goes is routing's, whether its device can be reached is the links'.  homi-address(7).
"""

import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import msgspec

from homi.address import MAX_NAME, RESERVED, Device, Name, is_name
from homi.claims import Mirror
from homi.clock import rfc3339
from homi.config import MIRRORS_MAX

Subscriber = Callable[[], None]
# What is kept: every mirror, and those that ended with it.
Keep = Callable[[dict[str, Mirror], list[Mirror]], None]


class Listing(NamedTuple):
    """The local name of a mirror, and why it is not the one it has there."""

    name: Name | None  # None: it is not listed
    note: str = ""


class Mirrors:
    """Every mirror by its full address.  Each change is on disk before its call
    returns."""

    def __init__(
        self,
        entries: Mapping[str, Mirror],
        mint: Callable[[], int],
        at_desk: Callable[[str], tuple[int, float] | None],
        keep: Keep,
    ) -> None:
        """What was known last is listed from the start.

        mint gives a number nobody has, at_desk the desk number of an address and when
        it was used; keep saves, durably, and lets the desk have what it should.
        """
        self._entries = dict(entries)
        self._mint = mint
        self._at_desk = at_desk
        self._keep = keep
        self._subscribers: list[Subscriber] = []
        self._withdrawn: set[Device] = set()
        self._index()

    def get(self, address: str) -> Mirror | None:
        """The mirror of a full address."""
        return self._entries.get(address)

    def all(self) -> list[Mirror]:
        """Every mirror, by its address."""
        return [self._entries[to] for to in sorted(self._entries)]

    def of(self, device: Device) -> list[Mirror]:
        """The mirrors of one device, by name."""
        return [each for each in self.all() if each.device == device]

    def concerned(self, name: Name) -> list[Mirror]:
        """The mirrors that are listed under that name, or would like to be."""
        return list(self._by_name.get(name, ()))

    def wanted(self) -> Iterable[Name]:
        """Every local name a mirror may be listed under."""
        return list(self._by_name)

    def leads_to(self, name: str) -> str | None:
        """The address that a local name means, which is neither claimed nor an alias;
        None where no mirror has it, or two want it."""
        found = self._by_name.get(Name(name.lower() if name.isascii() else name), [])
        return found[0].to if len(found) == 1 else None

    def listing(self, mirror: Mirror, taken: Callable[[Name], str]) -> Listing:
        """The local name of a mirror now: its own, else with its device behind it.

        taken says who has a local name here; empty: nobody.
        """
        why = self._not(mirror, mirror.name, taken)
        if not why:
            return Listing(mirror.name)
        behind = qualified(mirror)
        if behind is None:
            return Listing(None, f"{why}; with its device it makes no name")
        also = self._not(mirror, behind, taken)
        return Listing(None, f"{why}; {also}") if also else Listing(behind, why)

    def withdrawn(self, device: Device) -> bool:
        """Whether nothing of the device is listed for now."""
        return device in self._withdrawn

    def sync(self, device: Device, names: Mapping[Name, int], now: float) -> None:
        """Let these be the mirrors of a device: its names, each with its generation.

        Of more than MIRRORS_MAX the first by name.  now is wall seconds.
        """
        wanted = {name: names[name] for name in sorted(names) if _may_be(name, device)}
        wanted = dict(list(wanted.items())[:MIRRORS_MAX])
        had = {each.name: each for each in self.of(device)}
        entries = {
            to: each for to, each in self._entries.items() if each.device != device
        }
        for name, generation in wanted.items():
            mirror = had.get(name) or self._make(device, name, now)
            entries[mirror.to] = msgspec.structs.replace(mirror, generation=generation)
        if entries == self._entries:
            return
        ended = [each for name, each in had.items() if name not in wanted]
        self._keep(entries, ended)
        self._entries = entries
        self._index()
        self._tell()

    def withdraw(self, device: Device, *, away: bool) -> None:
        """List nothing of the device for now, or list it again; not kept on disk."""
        if away != self.withdrawn(device):
            self._withdrawn ^= {device}
            self._tell()

    def number(self, address: str, now: float) -> int | None:
        """The number of a mirror, which from now on stands for a sender, too; None
        where the address has no mirror.  now is wall seconds."""
        mirror = self._entries.get(address)
        if mirror is None:
            return None
        if not mirror.used:
            used = msgspec.structs.replace(mirror, used=now)
            entries = {**self._entries, address: used}
            self._keep(entries, [])
            self._entries = entries
            self._index()
        return mirror.number

    def subscribe(self, callback: Subscriber) -> None:
        """Call back after mirrors came, ended, were withdrawn or are back."""
        self._subscribers.append(callback)

    def _make(self, device: Device, name: Name, now: float) -> Mirror:
        """A mirror that was not there; it takes over what stood for its address."""
        number, used = self._at_desk(f"{name}@{device}") or (0, 0.0)
        return Mirror(
            name=name,
            device=device,
            number=number or self._mint(),
            at=rfc3339(now),
            session_id=str(uuid.uuid4()),
            used=used,
        )

    def _not(self, mirror: Mirror, name: Name, taken: Callable[[Name], str]) -> str:
        """Why a mirror is not listed under that name; empty: it may be."""
        if why := taken(name):
            return why
        others = [each.to for each in self.concerned(name) if each.to != mirror.to]
        return f"{others[0]} wants {name}, too" if others else ""

    def _index(self) -> None:
        """Which mirrors want which local name."""
        self._by_name: dict[Name, list[Mirror]] = {}
        for to in sorted(self._entries):
            mirror = self._entries[to]
            for name in (mirror.name, qualified(mirror)):
                if name is not None:
                    self._by_name.setdefault(name, []).append(mirror)

    def _tell(self) -> None:
        """Tell every subscriber, in order of subscription."""
        for callback in self._subscribers:
            callback()


def qualified(mirror: Mirror) -> Name | None:
    """The name with its device behind it; None where that is no name."""
    text = f"{mirror.name}.{mirror.device}"
    return Name(text) if len(text) <= MAX_NAME and is_name(text) else None


def _may_be(name: Name, device: Device) -> bool:
    """Whether it is a name that a claim can have; the rest is not believed."""
    return is_name(name) and name not in RESERVED and is_name(device)
