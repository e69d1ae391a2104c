"""Where an address leads: pure, over facts that are handed in.

Owns the order in which a bare name is looked up; homi-address(7) states it.
"""

from collections.abc import Callable, Iterable
from typing import Literal

from homi.address import BUILT_IN, Address, Device, Name, nearest
from homi.errors import NoSuchDevice, NoSuchName

# A mailbox here, or a live session's name that becomes one with this mail.
Place = tuple[Literal["mailbox", "unclaimed"], Name]


def resolve(
    address: Address,
    device: Device,
    claimed: Callable[[Name], bool],
    live: Callable[[Name], bool],
    known: Iterable[str],
) -> Place:
    """The place of an address; NoSuchName (67) or NoSuchDevice (68) with a hint."""
    if address.device is not None and address.device not in (device, "self"):
        raise NoSuchDevice(
            f"no device {address.device} is linked here",
            hint=f"this device is {device}",
        )
    if address.name in BUILT_IN or claimed(address.name):
        return "mailbox", address.name
    if live(address.name):
        return "unclaimed", address.name
    near = nearest(address.name, known)
    raise NoSuchName(
        f"no name {address.name} on this device",
        hint=f"did you mean {near}?" if near else "homi ls shows the names",
    )
