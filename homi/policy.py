"""Who may wake whom, and what becomes of another device's mail: pure.

Owns the patterns of homi.toml's table policy and which of them counts.  homi.toml(5).
"""

from collections.abc import Iterator
from typing import Literal

import msgspec

from homi.address import is_name, show
from homi.errors import BadConfig, Usage
from homi.quiet import parse_window

ANY = "*"
Remote = Literal["deliver", "park", "refuse"]


class Policy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the person chose for all names."""

    quiet: str = ""  # a window of each day in which no letter goes out; empty: none
    wake: dict[str, list[str]] = {}  # name -> senders that may start its turns
    remote: dict[str, Remote] = {}  # device or sender@device -> what becomes of mail
    join: dict[str, list[str]] = {}  # room -> who elsewhere may join it by themselves


def may_wake(policy: Policy, sender: str, device: str | None, name: str) -> bool:
    """Whether mail of sender may start turns of the session that has name."""
    allowed = policy.wake.get(name, policy.wake.get(ANY))
    if allowed is None:
        return True
    return any(_fits(each, sender, device) for each in allowed)


def remote(policy: Policy, sender: str, device: str) -> Remote:
    """What becomes of mail from a sender on another device; the closest rule."""
    rules = policy.remote
    for key in (f"{sender}@{device}", device, ANY):
        if key in rules:
            return rules[key]
    return "deliver"


def may_join(policy: Policy, name: str, device: str, room: str) -> bool:
    """Whether a name on another device may join a room here by itself: who is in the
    list of the room, else whoever has its mail delivered."""
    allowed = policy.join.get(room, policy.join.get(ANY))
    if allowed is not None:
        return any(_fits(each, name, device) for each in allowed)
    return remote(policy, name, device) == "deliver"


def checked(policy: Policy) -> Policy:
    """The same; BadConfig (78) for a rule that can mean nothing."""
    for problem in _problems(policy):
        raise BadConfig(f"policy.{problem}")
    return policy


def _problems(policy: Policy) -> Iterator[str]:
    """What of it is no rule."""
    if policy.quiet:
        try:
            parse_window(policy.quiet)
        except Usage as error:
            yield f"{error.text} ({error.hint})"
    for key, rules in (("wake", policy.wake), ("join", policy.join)):
        yield from _unmeant(key, rules)
    for key in policy.remote:
        sender, at, device = key.rpartition("@")
        if key != ANY and not (is_name(device) and (not at or is_name(sender))):
            yield f"remote: {show(key)} is neither device nor sender@device"


def _unmeant(key: str, rules: dict[str, list[str]]) -> Iterator[str]:
    """What is no name, or no sender of one."""
    for name, senders in rules.items():
        if name != ANY and not is_name(name):
            yield f"{key}: {show(name)} is no name"
        for sender in senders:
            if not _pattern(sender):
                yield f"{key}.{show(name)}: {show(sender)} is no sender"


def _pattern(text: str) -> bool:
    """Whether it is *, name, name@device or *@device."""
    name, at, device = text.partition("@")
    return (name == ANY or is_name(name)) and (
        not at or device == ANY or is_name(device)
    )


def _fits(pattern: str, sender: str, device: str | None) -> bool:
    """Whether a sender is meant; a bare name is one of this device, * anybody."""
    if pattern == ANY:
        return True
    name, at, where = pattern.partition("@")
    if name not in (ANY, sender):
        return False
    return where in (ANY, device) and device is not None if at else device is None
