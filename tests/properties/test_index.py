"""A start that believes the index and one that reads everything see the same."""

import os
import random
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
from hypothesis import example, given, settings
from hypothesis import strategies as st

from homi.address import Device, Name
from homi.envelope import (
    Envelope,
    LedgerLine,
    Msg,
    Reason,
    Rung,
    Via,
    encode,
)
from homi.store import indexing
from homi.store.index import Index
from homi.store.loading import Loaded, load
from homi.store.mailbox import Mailbox
from homi.store.places import folder_of, inbox_in, queue_of
from tests.unit.store.lines_kit import ADA, AT, BOB, message

NAME = Name("ada")
# Hundreds of new files that need no disk.
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
JUNK = (b"\n", b"what\n", b"\xff\0\0\n", b'{"v":1}\n', b"\n\n", b'{"v":7,"seq":1}\n')


class Writer:
    """Grows the files of a mailbox as chance has it, and damages them."""

    def __init__(self, root: Path, place: Name, seed: int) -> None:
        self.rng = random.Random(seed)
        self.folder = root / folder_of(place)
        self.inbox = inbox_in(str(self.folder))
        self.folder.mkdir(parents=True)
        self.seq = self.n = 0

    def write(self) -> None:
        """A few lines more, good ones and others."""
        for _ in range(self.rng.randrange(1, 8)):
            if self.rng.random() < 0.5:
                self._append(self.inbox, self._mail())
            else:
                self._append("ledger.jsonl", self._entry())

    def close_segment(self) -> None:
        """What grows becomes a segment, whatever is pending in it."""
        archive = self.folder / "archive"
        archive.mkdir(exist_ok=True)
        for kind in ("ledger", self.inbox.removesuffix(".jsonl")):
            path = self.folder / f"{kind}.jsonl"
            path.touch()
            path.rename(archive / f"{kind}.{self.seq:016}.jsonl")
        self.seq += 1

    def damage(self) -> None:
        """What a power cut or another hand may leave."""
        path = self.folder / self.rng.choice((self.inbox, "ledger.jsonl"))
        if not path.exists():
            return
        data = path.read_bytes()
        at = self.rng.randrange(len(data) + 1)
        what = self.rng.random()
        if what < 0.4:
            path.write_bytes(data[:at])
        elif what < 0.8:
            path.write_bytes(data[:at] + bytes(len(data) - at))
        else:
            path.unlink()

    def _append(self, name: str, line: bytes) -> None:
        if self.rng.random() < 0.1:
            line = self.rng.choice(JUNK) + line
        if self.rng.random() < 0.05:
            line = line[: self.rng.randrange(len(line))]
        with (self.folder / name).open("ab") as file:
            file.write(line)

    def _mail(self) -> bytes:
        self.seq += self.rng.choice((1, 1, 1, 2))
        seq = self.seq if self.rng.random() < 0.95 else self.rng.randrange(1, 30)
        number = seq if self.rng.random() < 0.9 else 1
        msg = Msg(id=message(number), from_="bob", to="ada", text="x" * (seq % 9))
        via = Via(door="control", uid=self.rng.randrange(2), repeat=seq % 5 == 0)
        one = Envelope(
            v=1, seq=seq, at=AT, to="ada", via=via, msg=msgspec.Raw(encode(msg))
        )
        return encode(one) + b"\n"

    def _entry(self) -> bytes:
        self.n += 1
        seq = self.rng.randrange(1, self.seq + 3)
        return (
            encode(
                LedgerLine(
                    n=self.n,
                    seq=seq,
                    id=message(seq if self.rng.random() < 0.9 else 1),
                    rung=self.rng.choice(list(Rung)),
                    at=AT,
                    reason=self.rng.choice((None, Reason.BUSY)),
                    session=self.rng.choice((None, ADA, BOB)),
                    until=self.rng.choice((None, AT)),
                    repeat=self.rng.random() < 0.1,
                )
            )
            + b"\n"
        )


def items(box: Mailbox) -> list[dict[str, Any]]:
    """Everything a mailbox knows of what is pending."""
    return [
        {slot: getattr(item, slot) for slot in item.__slots__}
        for item in box.pending.values()
    ]


def compare(root: Path, place: Name, index: Index) -> Loaded:
    """Load with and without the index; nothing may differ."""
    whole = load(str(root), place)
    before = index.before(place)
    quick = load(str(root), place, before=before)
    assert items(quick.mailbox) == items(whole.mailbox)
    for what in ("last_seq", "last_n", "pending_bytes"):
        assert getattr(quick.mailbox, what) == getattr(whole.mailbox, what), what
    assert {(f.path, f.offset, f.text) for f in quick.findings} == {
        (f.path, f.offset, f.text) for f in whole.findings
    }
    old = quick.old
    for source, ident, where in whole.keys:
        if (source, ident, where) not in quick.keys:
            assert old is not None
            assert ident in old
            assert where in index.places(place, ident)
    twice = Counter(ident for _, ident, _ in whole.keys)
    for ident in quick.mailbox.finished():  # the tail's; the index has the others
        if twice[ident] == 1:
            assert quick.mailbox.rung_of(ident) == whole.mailbox.rung_of(ident)
    return quick


@settings(max_examples=60, deadline=None)
# A line told of an archived seq that came behind it after all.
@example(NAME, 13150, 200)
@given(
    st.sampled_from([NAME, queue_of(Device("lab"))]),
    st.integers(0, 2**32),
    st.integers(200, 3000),
)
def test_index_and_files_tell_the_same(place: Name, seed: int, step: int) -> None:
    """Whatever was written, cut, overwritten or closed between two looks."""
    was, indexing.STEP = indexing.STEP, step
    try:
        with TemporaryDirectory(dir=MEMORY) as name, Index.open(name) as index:
            writer = Writer(Path(name), place, seed)
            for _ in range(writer.rng.randrange(2, 9)):
                writer.write()
                if writer.rng.random() < 0.2:
                    writer.close_segment()
                if writer.rng.random() < 0.2:
                    writer.damage()
                if writer.rng.random() < 0.6:
                    index.catch_up()
                    assert index.before(place) or not any(writer.folder.iterdir())
                compare(Path(name), place, index)
            index.catch_up()
            compare(Path(name), place, index)
    finally:
        indexing.STEP = was
