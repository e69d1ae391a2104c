"""Which devices a message came over, and when that is a loop: pure.

Owns the rule; homi-address(7) states it.
"""

from homi.config import HOPS_MAX

SEEN_MAX = 2  # times at one device: once more is a loop


def onward(hops: tuple[str, ...], device: str) -> tuple[str, ...]:
    """The hops of what goes on from device to another one."""
    return (*hops, device)


def following(hops: tuple[str, ...], device: str) -> tuple[str, ...]:
    """The hops of what follows its name on from device: each such way is a move that
    a person ordered, so what was there before forgets where it went in between."""
    return onward(hops[: hops.index(device)] if device in hops else hops, device)


def is_loop(hops: tuple[str, ...]) -> bool:
    """Whether a message with these hops, this device the last, goes no further."""
    return len(hops) > HOPS_MAX or hops.count(hops[-1]) > SEEN_MAX
