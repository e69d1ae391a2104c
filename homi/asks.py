"""Which questions somebody waits for here, and the answers that came meanwhile.

Owns nothing durable: a question is kept like any mail, so is its answer.  An answer
that somebody waits for is theirs, and goes to no session beside.  homi-ask(1).
"""

from collections.abc import Callable

from homi.address import OWNER
from homi.envelope import MessageId
from homi.reports import Answered
from homi.store.base import Mail
from homi.store.mailbox import Item, stamp
from homi.watchers import Watchers

Look = Callable[[], None]


class Asks:
    """The open questions of all connections.  All calls on the loop's thread."""

    def __init__(self) -> None:
        """Nobody waits."""
        self._count: dict[MessageId, int] = {}  # how many hold it
        self._to: dict[MessageId, str] = {}  # who answers
        self._found: dict[MessageId, Answered] = {}
        self.waits: Watchers[MessageId] = Watchers()  # by question

    def awaited(self, item: Item) -> bool:
        """Whether somebody waits for what that envelope answers."""
        return self.awaits(item.reply_to)

    def awaits(self, about: MessageId | None) -> bool:
        """Whether somebody waits for an answer to that message."""
        return about in self._count

    def hold(self, ask: MessageId) -> None:
        """Somebody is about to wait; to be let go as often."""
        self._count[ask] = self._count.get(ask, 0) + 1

    def let_go(self, ask: MessageId) -> bool:
        """Whether nobody holds it any more."""
        left = self._count.get(ask, 0) - 1
        if left > 0:
            self._count[ask] = left
            return False
        for kept in (self._count, self._to, self._found):
            kept.pop(ask, None)
        return True

    def asked(self, ask: MessageId, to: str) -> None:
        """Who answers it: a name, or an address on another device."""
        self._to[ask] = to

    def find(self, ask: MessageId) -> Answered | None:
        """Its answer, the first that came."""
        return self._found.get(ask)

    def found(self, ask: MessageId, answer: Answered) -> None:
        """An answer stands in the files."""
        if ask in self._count and answers(self._to.get(ask, ""), answer):
            self._found.setdefault(ask, answer)
            self.waits.moved(ask)

    def replied(self, mail: Mail) -> None:
        """An answer was stored."""
        head, device = mail.head, mail.via.device
        if head.reply_to is None or head.reply_to not in self._count:
            return
        answer = Answered(
            id=head.reply_to,
            answer=mail.id,
            name=mail.place,
            from_=head.from_ if device is None else f"{head.from_}@{device}",
            text=head.text,
            at=stamp(mail.tail),
            seq=mail.seq,
            verified=mail.via.verified,
            default=head.auto,
        )
        self.found(head.reply_to, answer)


def answers(to: str, answer: Answered) -> bool:
    """Whether it comes from who was asked: of another device by its whole address,
    since much is sent there that others than its writer were asked."""
    name, _, device = to.partition("@")
    if answer.default:  # of the postmaster there, or here where it never left
        return answer.from_.partition("@")[2] in ("", device)
    if device and name == OWNER and not answer.verified:
        return False  # what is for a person no program answers
    return not device or answer.from_ == to
