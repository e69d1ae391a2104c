"""Mail whose address was there when it was written down, and is no more.

Owns where it goes instead: to who began the conversation, else to the postmaster, and
that its sender is told; never to several.  homi-address(7) has the rule.
"""

import logging
from collections.abc import Callable
from functools import partial

from homi.address import POSTMASTER, show
from homi.envelope import Kind, MessageId, Msg
from homi.gate import ROOM
from homi.names import Names
from homi.postmaster import Postmaster, Result, Submission
from homi.reports import Found

log = logging.getLogger("homi.postmaster")

# Beside a conversation's beginning, told once; where nobody knows it, an error.
Opener = Callable[[MessageId, Callable[[object], None]], None]
LATE_DOORS = frozenset({"link", "pickup"})  # who wrote it is not there any more


class Astray:
    """Leads such mail on."""

    def __init__(self, names: Names, postmaster: Postmaster, opener: Opener) -> None:
        """opener looks into the files, beside the loop."""
        self._names = names
        self._postmaster = postmaster
        self._opener = opener
        self._led: set[MessageId] = set()  # to an opener, who may be gone as well

    def lead(self, sub: Submission) -> bool:
        """Whether it goes elsewhere; False: it is refused like any unknown address."""
        head = sub.head
        if sub.stamp.via.door == ROOM:
            return False  # the room has it
        if head.id in self._led:
            self._submit(sub, POSTMASTER)
            return True
        if not self._gone(sub):
            return False
        about = head.reply_to or head.thread
        if about is None:
            self._submit(sub, POSTMASTER)
            return True
        self._opener(MessageId(about), partial(self._found, sub))
        return True

    def _gone(self, sub: Submission) -> bool:
        """Whether the address was one: of a socket always, else of a released name; a
        caller that is there is told itself, unless it answers."""
        door, head = sub.stamp.via.door, sub.head
        if door == "peer":
            return True
        name = sub.to.partition("@")[0].lower()
        answers = head.kind is Kind.REPLY and head.reply_to is not None
        return self._names.was(name) and (door in LATE_DOORS or answers)

    def _found(self, sub: Submission, found: object) -> None:
        """Who began it is known, or is not."""
        to = found.to if isinstance(found, Found) else POSTMASTER
        if to in (sub.to, sender(sub)):
            to = POSTMASTER
        self._submit(sub, to)

    def _submit(self, sub: Submission, to: str) -> None:
        """Let it in there."""
        head = sub.head
        if to != POSTMASTER:
            self._led.add(head.id)
        done = partial(self._done, sub, to)
        led = Submission(head, sub.msg, sub.stamp, to, done, sub.hops)
        led.told = sub.told
        self._postmaster.accept(led)

    def _done(self, sub: Submission, to: str, result: Result) -> None:
        """Tell who wrote it."""
        self._led.discard(sub.head.id)
        if result.kept and not result.duplicate:
            where = to if result.to == to else result.to
            log.info("%s to=%s went astray, to %s", sub.head.id, show(sub.to), where)
            self._report(sub.head, sub, where)
        sub.done(result)

    def _report(self, head: Msg, sub: Submission, where: str) -> None:
        """One notice a message."""
        text = (
            f"Your message {head.id} was for {sub.to}, which is no address any more:"
            f" it went to {where}."
        )
        self._postmaster.tell(sender(sub), head.id, head.kind, "astray", text)


def sender(sub: Submission) -> str:
    """The address of who wrote it."""
    device = sub.stamp.via.device
    return sub.head.from_ if device is None else f"{sub.head.from_}@{device}"
