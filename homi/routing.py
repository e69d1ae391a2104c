"""Where an address leads: pure, over facts that are handed in.

Owns the order in which a bare name is looked up, and how far aliases are followed;
homi-address(7) states both.
"""

import re
from collections.abc import Callable, Collection, Iterable
from typing import Literal, NamedTuple

from homi.address import (
    BUILT_IN,
    MAX_NAME,
    SELF,
    Address,
    Device,
    Name,
    nearest,
    parse_address,
)
from homi.errors import NoSuchName, Usage, not_linked
from homi.store.places import queue_of

ALIASES_MAX = 8  # followed one after another: a longer chain is a mistake

_BEHIND = re.compile(r"(.+)-live(?:-[1-9][0-9]?)?", re.ASCII)
FRONT_MAX = MAX_NAME - len("-live-99")  # of a name with room for what comes behind it


class Place(NamedTuple):
    """Where mail goes: a mailbox here, a live session's name that becomes one with
    this mail, or the out queue of another device."""

    kind: Literal["mailbox", "unclaimed", "queue"]
    name: Name  # of the mailbox, or the place of the queue
    to: str  # the address after aliases: of a queue with the device

    @property
    def local(self) -> bool:
        """Whether its mail stays on this device."""
        return self.kind != "queue"


def _no_device() -> tuple[Device, ...]:
    """No other device is linked."""
    return ()


def _no_mirror(_name: Name) -> None:
    """Nothing is mirrored here."""


class Facts(NamedTuple):
    """What is known of the names of one device."""

    device: Device
    claimed: Callable[[Name], bool]
    fronted: Callable[[Name], bool]  # claimed, and its sessions go by another name
    live: Callable[[Name], bool]  # a live session has that name
    alias: Callable[[Name], str | None]  # the address it leads to
    known: Callable[[], Iterable[str]]  # every name an unknown one may have meant
    devices: Callable[[], Collection[Device]] = _no_device  # linked, or by a route
    mirror: Callable[[Name], str | None] = _no_mirror  # the address it stands for


def resolve(address: Address, facts: Facts) -> Place:
    """The place of an address; NoSuchName (67) or NoSuchDevice (68) with a hint."""
    first = address.name
    followed: list[Name] = []
    while True:
        if (device := elsewhere(address, facts)) is not None:
            return Place("queue", queue_of(device), str(address))
        name = address.name
        if name in BUILT_IN or facts.claimed(name):
            return Place("mailbox", name, name)
        if (behind := behind_front(name, facts)) is not None:
            return Place("mailbox", behind, behind)
        if facts.live(name):
            return Place("unclaimed", name, name)
        target = facts.alias(name) or facts.mirror(name)
        if target is None:
            raise _unknown(name, first, facts)
        followed.append(name)
        address = parse_address(target)
        again = address.name in followed and elsewhere(address, facts) is None
        if again or len(followed) > ALIASES_MAX:
            raise NoSuchName(
                f"the alias {first} {_astray(again)}",
                hint=f"homi alias rm {first}",
            )


def check_alias(
    name: Name,
    to: Address,
    alias: Callable[[Name], str | None],
    device: Device | None = None,
) -> None:
    """Usage (64) where name as an alias of to would lead back to itself, or too far.
    device: this one; a way back from another is told by the hops of its mail."""
    seen = {name}
    target: str | None = str(to)
    while target is not None:
        address = parse_address(target)
        if address.device not in (None, device, SELF):
            return
        if address.name in seen or len(seen) > ALIASES_MAX:
            raise Usage(
                f"as an alias of {to}, {name} {_astray(address.name in seen)}",
                hint="homi alias ls shows where each leads",
            )
        seen.add(address.name)
        target = alias(address.name)


def elsewhere(address: Address, facts: Facts) -> Device | None:
    """The linked device an address is on; None: this one.  NoSuchDevice (68) for any
    other, with the nearest."""
    device = address.device
    if device is None or device in (facts.device, SELF):
        return None
    linked = facts.devices()
    if device in linked:
        return device
    near = nearest(device, linked)
    raise not_linked(
        device,
        f"this device is {facts.device}; homi pair USER@HOST links another",
        f"{address.name}@{near}" if near else None,
    )


def live_name(name: Name, number: int) -> Name:
    """What the number-th session behind a fronted name is called."""
    return Name(f"{name}-live" if number == 1 else f"{name}-live-{number}")


def check_length(name: Name) -> None:
    """Usage (64) for a name too long to be in front."""
    if len(name) > FRONT_MAX:
        raise Usage(
            f"{name} has {len(name)} characters, a name in front has at most"
            f" {FRONT_MAX}",
            hint="its session is called NAME-live, which must be a name too",
        )


def fronted_by(name: Name) -> Name | None:
    """The name that would stand before a session of that name; None: none would."""
    found = _BEHIND.fullmatch(name)
    return None if found is None else Name(found[1])


def behind_front(name: Name, facts: Facts) -> Name | None:
    """The fronted name whose session goes by that name."""
    front = fronted_by(name)
    return front if front is not None and facts.fronted(front) else None


def _astray(again: bool) -> str:
    """What is wrong with a chain of aliases."""
    if again:
        return "leads back to itself"
    return f"leads over more than {ALIASES_MAX} aliases"


def _unknown(name: Name, first: Name, facts: Facts) -> NoSuchName:
    """The refusal for a name nobody has."""
    near = nearest(name, facts.known())
    via = "" if name == first else f"the alias {first} leads to {name}: "
    return NoSuchName(
        f"{via}no name {name} on this device",
        hint=f"did you mean {near}?" if near else "homi ls shows the names",
    )
