"""Which ids a mailbox holds already: a hint in memory, a proof on disk.

Owns the map from (origin, id) to the offset of the inbox line; never believes it
without having read that line.  homi-mailbox(5) states the rule.
"""

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from homi.envelope import Envelope, decode_envelope, decode_msg, origin
from homi.store.archive import place, segment_of

# 60 bits are two digits of an int: an id costs 16 bytes less than with 64.
MASK = (1 << 60) - 1

ReadLine = Callable[[int], bytes]  # the line of the inbox at that offset


class Stored(NamedTuple):
    """The line an id was stored in."""

    seq: int
    offset: int
    length: int
    same: bool  # its msg is the very bytes asked about


class Dedupe(dict[int, int | tuple[int, ...]]):
    """The ids of one mailbox: hash to offset, or to several where hashes collide.

    Used by the committer only.  A dict itself, since it is asked for every mail.
    """

    __slots__ = ()

    def add(self, key: int, offset: int) -> None:
        """Note that an id of that hash stands at offset."""
        had = self.setdefault(key, offset)
        if had != offset:
            # Two ids of one hash: both places are kept and read when asked.
            chain = had if isinstance(had, tuple) else (had,)
            self[key] = chain if offset in chain else (*chain, offset)

    def look(
        self, key: int, source: str, message: str, msg: bytes, read: ReadLine
    ) -> Stored | None:
        """The line that holds this origin and id, read at its place; None if none."""
        had = self.get(key)
        if had is None:
            return None
        for offset in had if isinstance(had, tuple) else (had,):
            line = read(offset)
            try:
                envelope = decode_envelope(line)
            except (ValueError, RecursionError):
                continue  # damaged: what it said is not known any more
            if _is(envelope, source, message):
                same = bytes(envelope.msg) == msg.strip()
                return Stored(envelope.seq, offset, len(line), same)
        return None

    def keep(self, start: int) -> None:
        """Forget what stands before that byte of the inbox or in closed segments."""
        left = {
            key: had
            for key, had in self.items()
            if not isinstance(had, int) or (had >= start and not segment_of(had))
        }
        self.clear()
        self.update(left)

    def closed(self, last: int) -> None:
        """All of the inbox is now the segment that ends with seq last."""
        for key, had in self.items():
            chain = had if isinstance(had, tuple) else (had,)
            now = tuple(at if segment_of(at) else place(last, at) for at in chain)
            self[key] = now if isinstance(had, tuple) else now[0]

    def without(self, gone: Collection[int]) -> None:
        """Forget what stood in the segments of these last seqs."""
        left: dict[int, int | tuple[int, ...]] = {}
        for key, had in self.items():
            chain = had if isinstance(had, tuple) else (had,)
            if stay := tuple(at for at in chain if segment_of(at) not in gone):
                left[key] = stay if len(stay) > 1 else stay[0]
        self.clear()
        self.update(left)

    def moved(self, cut: int, lines: Iterable[tuple[int, bytes]]) -> None:
        """Forget what stood at cut and behind it; learn the lines (offset, line)."""
        left = {
            key: kept
            for key, had in self.items()
            if (kept := _below(had, cut)) is not None
        }
        self.clear()
        self.update(left)
        for offset, line in lines:
            envelope = decode_envelope(line)
            self.add(key_of(origin(envelope.via), decode_msg(envelope.msg).id), offset)


def key_of(source: str, message: str) -> int:
    """The hash of an origin and an id; the same for the life of a process only."""
    return hash((source, message)) & MASK


def _below(had: int | tuple[int, ...], cut: int) -> int | tuple[int, ...] | None:
    """What is left of a place or a chain of them under cut."""
    if isinstance(had, int):
        return had if had < cut or segment_of(had) else None
    left = tuple(offset for offset in had if offset < cut or segment_of(offset))
    return left if len(left) > 1 else next(iter(left), None)


def _is(envelope: Envelope, source: str, message: str) -> bool:
    """Whether the line is of that origin and id."""
    if origin(envelope.via) != source:
        return False
    try:
        return decode_msg(envelope.msg).id == message
    except (ValueError, RecursionError):
        return False
