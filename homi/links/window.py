"""Which envelopes of one connection are under way, in each direction.

Owns the numbers, the bound on both ends and what an ack may say; sees no mail.
homi-protocol(7) states the rules.
"""

from collections import deque

from homi.links.frames import WINDOW, WINDOW_BYTES, Ack, Not, Refusal


class Outbound:
    """What was sent and is not acked."""

    def __init__(self) -> None:
        """Nothing yet."""
        self.sent = 0  # the number of the last
        self.upto = 0  # the last that is settled
        self.room = True  # for one more, of whatever length: asked for every mail
        self._lengths: deque[int] = deque()
        self._bytes = 0

    def count(self, length: int) -> None:
        """One more left, as a line of so many bytes."""
        self.sent += 1
        self._lengths.append(length)
        self._bytes += length
        if len(self._lengths) >= WINDOW or self._bytes >= WINDOW_BYTES:
            self.room = False

    def acked(self, ack: Ack) -> None:
        """Take them as settled; ValueError for an ack that cannot be."""
        if ack.after != self.upto or not self.upto < ack.upto <= self.sent:
            raise ValueError(
                f"ack of {ack.upto} after {ack.after}: {self.upto} is acked,"
                f" {self.sent} was sent last"
            )
        before = self.upto
        for refused in ack.not_:
            if not before < refused.n <= ack.upto:
                raise ValueError(f"ack of {ack.upto} refuses {refused.n} out of turn")
            before = refused.n
        for _ in range(ack.upto - self.upto):
            self._bytes -= self._lengths.popleft()
        self.upto = ack.upto
        self.room = len(self._lengths) < WINDOW and self._bytes < WINDOW_BYTES


class Inbound:
    """What came and is not acked; what is settled in between waits for its turn."""

    def __init__(self) -> None:
        """Nothing yet."""
        self.last = 0  # the number of the last
        self._upto = 0  # all up to here are settled
        self.told = 0  # and up to here are acked
        self._early: dict[int, Refusal | None] = {}
        self._refused: list[Not] = []
        self._lengths: deque[int] = deque()
        self._bytes = 0

    def came(self, n: int, length: int) -> None:
        """The next came, as a line of so many bytes; ValueError out of order, or where
        the sender did not wait for acks."""
        if n != self.last + 1:
            raise ValueError(f"mail {n} came after {self.last}")
        if len(self._lengths) >= WINDOW or self._bytes >= WINDOW_BYTES:
            raise ValueError(f"mail {n} is beyond the window")
        self.last = n
        self._lengths.append(length)
        self._bytes += length

    def settle(self, n: int, refusal: Refusal | None) -> bool:
        """n was stored or refused; whether there is more to ack now."""
        self._early[n] = refusal
        if n != self._upto + 1:
            return False
        while (n := self._upto + 1) in self._early:
            refusal = self._early.pop(n)
            if refusal is not None:
                self._refused.append(_numbered(n, refusal))
            self._upto = n
        return True

    def ack(self) -> Ack:
        """What to say of all that is settled and not acked."""
        after, self.told = self.told, self._upto
        for _ in range(self.told - after):
            self._bytes -= self._lengths.popleft()
        refused, self._refused = self._refused, []
        return Ack(after=after, upto=self.told, not_=refused)


def _numbered(n: int, refusal: Refusal) -> Not:
    """The refusal, with the number of its mail."""
    return Not(
        n=n,
        code=refusal.code,
        text=refusal.text,
        hint=refusal.hint,
        reason=refusal.reason,
        permanent=refusal.permanent,
    )
