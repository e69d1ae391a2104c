"""A conversation as a tree, in order of arrival: pure, over what was found of it.

Owns which message stands below which, what breaks a circle of replies, and that
each stored message is there exactly once.  homi-inbox(1) shows the tree.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

import msgspec

from homi.address import Name
from homi.envelope import MessageId


class Arrived(Protocol):
    """What of a stored message places it in a conversation."""

    @property
    def name(self) -> Name:
        """The mailbox it is in."""
        ...

    @property
    def seq(self) -> int:
        """Its place there."""
        ...

    @property
    def id(self) -> MessageId:
        """Copies in several mailboxes have one."""
        ...

    @property
    def reply_to(self) -> MessageId | None:
        """What it says it answers; perhaps nothing that is here, perhaps itself."""
        ...

    @property
    def at(self) -> str:
        """When it arrived, by the clock of this device; never the sender's word."""
        ...


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the tree: a stored message, or an id that others answer and that is
    not here."""

    id: MessageId
    place: int | None  # of the message in what was given; None: it is not here
    depth: int  # 0: nothing stands above it
    parent: MessageId | None = None  # what it stands below
    cut: bool = False  # its reply_to would have closed a circle


def tree(found: Sequence[Arrived]) -> list[Node]:
    """Every message of found once, each below what it answers, early before late.

    Of a circle the message that arrived first stands on top.  Copies of a message
    stand together, and what answers it behind the last of them.
    """
    order = sorted(range(len(found)), key=lambda at: _arrival(found[at]))
    copies: dict[MessageId, list[int]] = {}
    for at in order:
        copies.setdefault(found[at].id, []).append(at)
    above = {one: found[places[0]].reply_to for one, places in copies.items()}
    cut = _cut(above)
    below: dict[MessageId | None, list[MessageId]] = {}
    for one, parent in above.items():
        if parent is not None and parent not in copies and parent not in below:
            below.setdefault(None, []).append(parent)
        below.setdefault(parent, []).append(one)
    return list(_lines(below, copies, cut))


def _arrival(message: Arrived) -> tuple[str, str, int]:
    """By the clock of the device; within one mailbox a tie is broken by its order."""
    return message.at, message.name, message.seq


def _cut(above: dict[MessageId, MessageId | None]) -> set[MessageId]:
    """Open each circle in above, whose ids are in order of arrival, at its first."""
    rank = {one: place for place, one in enumerate(above)}
    done: set[MessageId] = set()
    opened: set[MessageId] = set()
    for start in above:
        path: dict[MessageId, None] = {}
        one: MessageId | None = start
        while one is not None and one in above and one not in done:
            if one in path:
                walked = list(path)
                first = min(walked[walked.index(one) :], key=rank.__getitem__)
                above[first] = None
                opened.add(first)
                break
            path[one] = None
            one = above[one]
        done.update(path)
    return opened


def _lines(
    below: dict[MessageId | None, list[MessageId]],
    copies: dict[MessageId, list[int]],
    cut: set[MessageId],
) -> Iterable[Node]:
    """The tree from its tops down; without recursion, as a chain may be long."""
    left: list[tuple[MessageId, int, MessageId | None]]
    left = [(one, 0, None) for one in reversed(below.get(None, []))]
    while left:
        one, depth, parent = left.pop()
        for place in copies.get(one, [None]):
            yield Node(id=one, place=place, depth=depth, parent=parent, cut=one in cut)
        left += [(each, depth + 1, one) for each in reversed(below.get(one, []))]
