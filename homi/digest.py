"""What a digest's own envelope says of it: for whom it is, and which letters it lists.

Owns the form, kept in the message's tags; pure.  homi-mailbox(5) shows it.
"""

from bisect import bisect_right
from collections.abc import Collection, Iterable

import msgspec

from homi.envelope import Kind, MessageId, Msg, SessionRef, encode

MARK = "digest"


class Digest(msgspec.Struct, frozen=True, kw_only=True):
    """What a digest's envelope says of itself."""

    seq: int
    id: MessageId
    session: SessionRef  # the only conversation it is for
    spans: tuple[tuple[int, int], ...]  # first and last seq, both listed

    def lists(self, seq: int) -> bool:
        """Whether it lists the letter of that seq."""
        at = bisect_right(self.spans, (seq, 1 << 62)) - 1
        return at >= 0 and self.spans[at][0] <= seq <= self.spans[at][1]


def tags(
    session: SessionRef, listed: Collection[int], among: Iterable[int]
) -> list[str]:
    """The tags of a digest for session of the listed seqs among the pending ones."""
    return [MARK, encode(session).decode(), _spans(listed, among)]


def is_digest(head: Msg) -> bool:
    """Whether a message is one; nobody but a postmaster makes notices."""
    return head.tags[:1] == [MARK] and head.kind is Kind.NOTICE


def read(seq: int, msg: Msg) -> Digest | None:
    """The digest that msg is, None where it is none."""
    if not is_digest(msg):
        return None
    try:
        _, session, spans = msg.tags
        return Digest(
            seq=seq,
            id=msg.id,
            session=msgspec.json.decode(session, type=SessionRef),
            spans=tuple(_span(part) for part in spans.split(",")),
        )
    except (msgspec.MsgspecError, ValueError):
        return None


def _spans(listed: Collection[int], among: Iterable[int]) -> str:
    """The listed seqs as spans without another pending letter in them."""
    spans: list[list[int]] = []
    going = False
    for seq in among:
        if seq not in listed:
            going = False
        elif going:
            spans[-1][1] = seq
        else:
            spans.append([seq, seq])
            going = True
    return ",".join(f"{first}-{last}" for first, last in spans)


def _span(part: str) -> tuple[int, int]:
    """first-last; ValueError where it is none."""
    first, last = part.split("-")
    return int(first), int(last)
