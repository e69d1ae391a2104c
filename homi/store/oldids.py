"""Which ids the older part of a mailbox holds: eight bytes each, and no lie.

Owns the hash of an id and the sorted runs in which the index keeps them.  Says no
where an id is not there; a yes is a hint.  homi-mailbox(5) has the rule.
"""

import hashlib
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Iterable

from homi.store.database import Broken, Database

# A run is merged into the next while that is less than so many times longer: a
# million ids lie in ten runs at most, and each is written ten times at most.
GROWTH = 4
_PRIME = (1 << 61) - 1
_SPREAD = 0x9E3779B97F4A7C15  # so that ids in sequence lie apart
_KEY = (1 << 63) - 1
_BUCKETS = 12  # bits
_FEW = 1 << 16  # keys that need no buckets

Run = tuple[int, int, int]  # its number, how many keys, their checksum


def key_of(message: str) -> int:
    """The hash of an id, the same on every machine and day."""
    try:
        number = int(message.replace("-", ""), 16)
    except ValueError:
        data = message.encode("utf-8", "surrogatepass")
        number = int.from_bytes(hashlib.blake2b(data, digest_size=8).digest())
    return number % _PRIME * _SPREAD & _KEY


class OldIds:
    """The ids of the part of a mailbox that an index vouched for."""

    __slots__ = ("_starts", "_tables")

    def __init__(self, runs: list["array[int]"]) -> None:
        """runs: sorted keys, the longest run first."""
        few = array("q", sorted(key for run in runs[1:] for key in run))
        self._tables = [run for run in (*runs[:1], few) if run]
        self._starts = [_starts(table) for table in self._tables]

    def __len__(self) -> int:
        """How many they are."""
        return sum(map(len, self._tables))

    def __contains__(self, message: str) -> bool:
        """False: no line of that part has this id."""
        key = key_of(message)
        for table, starts in zip(self._tables, self._starts, strict=True):
            bucket = key >> 63 - _BUCKETS
            low, high = (
                (starts[bucket], starts[bucket + 1]) if starts else (0, len(table))
            )
            at = bisect_left(table, key, low, high)
            if at < high and table[at] == key:
                return True
        return False


def extend(db: Database, box: int, runs: list[Run], messages: Iterable[str]) -> None:
    """Add the ids of messages to the runs of a mailbox.  Inside a transaction."""
    keys = sorted(map(key_of, messages))
    while keys and runs and runs[-1][1] < GROWTH * len(keys):
        run = runs.pop()
        # Two sorted runs: the sort only merges them.
        keys = sorted([*_read(db, box, run), *keys])
        db.one("DELETE FROM ids WHERE box=? AND run=?", box, run[0])
    if keys:
        data = array("q", keys).tobytes()
        number = runs[-1][0] + 1 if runs else 1
        db.one("INSERT INTO ids(box, run, keys) VALUES(?, ?, ?)", box, number, data)
        runs.append((number, len(keys), zlib.crc32(data)))


def read(db: Database, box: int, runs: list[Run]) -> OldIds:
    """The ids of a mailbox; Broken where they are not what was written."""
    return OldIds([_read(db, box, run) for run in runs])


def _read(db: Database, box: int, run: Run) -> "array[int]":
    """The keys of one run."""
    number, count, crc = run
    found = db.one("SELECT keys FROM ids WHERE box=? AND run=?", box, number)
    data = found[0] if found else None
    # SQLite keeps any type in any column: a flipped bit may have made another.
    if not isinstance(data, bytes) or (len(data), zlib.crc32(data)) != (8 * count, crc):
        raise Broken("a run of ids")
    keys = array("q")
    keys.frombytes(data)
    return keys


def _starts(table: "array[int]") -> list[int]:
    """Where the keys of each bucket begin; empty for a short table."""
    if len(table) < _FEW:
        return []
    step = 1 << 63 - _BUCKETS
    return [bisect_left(table, n * step) for n in range((1 << _BUCKETS) + 1)]
