"""A journal under truncation, bit flips and lost pages, and a ring that holds it."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from homi.envelope import Envelope, LedgerLine, decode_msg
from homi.store.reading import iter_inbox, iter_ledger
from homi.store.ring import PAGE
from tests.unit.store.commit_kit import Core, entry, ids, ids_in, inbox_path, mail


@contextmanager
def folder() -> Iterator[Path]:
    """A state root of its own for each example."""
    path = Path(tempfile.mkdtemp(prefix="homi-property-"))
    try:
        yield path
    finally:
        shutil.rmtree(path)


Damage = tuple[str, float, int]
damages = st.lists(
    st.tuples(
        st.sampled_from(["cut", "flip", "zero", "junk", "drop"]),
        st.floats(0, 1, exclude_max=True),
        st.integers(0, 255),
    ),
    max_size=4,
)


def damaged(data: bytes, harm: list[Damage]) -> bytes:
    """The bytes of a journal after a power cut on a bad day."""
    changed = bytearray(data)
    for what, where, value in harm:
        at = int(where * len(changed))
        if what == "cut":
            del changed[at:]
        elif what == "flip" and changed:
            changed[at] ^= 1 << value % 8
        elif what == "zero":
            end = min(at + 64, len(changed))
            changed[at:end] = bytes(end - at)
        elif what == "junk":
            changed[at:at] = bytes([value]) * 7
        elif what == "drop":
            del changed[at : at + value]
    return bytes(changed)


places = st.sampled_from(["ada", "@lab"])  # a mailbox, an out queue
texts = st.lists(st.text(max_size=40), min_size=1, max_size=12)


@settings(max_examples=150, deadline=None)
@given(places, texts, damages, st.integers(1, 12))
def test_every_line_of_the_ring_stands_once_whatever_befell_the_inbox(
    place: str, bodies: list[str], harm: list[Damage], size: int
) -> None:
    """The ring is the truth until a checkpoint; other journals are not touched."""
    with folder() as root:
        core = Core(root)
        mails = [mail(place, text) for text in bodies]
        for at in range(0, len(mails), size):
            core.commit(*mails[at : at + size])
        others = [mail("bob", text) for text in bodies]
        core.commit(*others)
        core.close()
        path = inbox_path(root, place)
        path.write_bytes(damaged(path.read_bytes(), harm))
        bob = inbox_path(root, "bob").read_bytes()
        Core(root).close()
        assert ids(root, place) == [m.id for m in mails]
        assert inbox_path(root, "bob").read_bytes() == bob
        # Junk that spoilt no line of ours stays where it is, and is no mail.
        found = [one for _, one in iter_inbox(path) if isinstance(one, Envelope)]
        assert [decode_msg(bytes(one.msg)).text for one in found] == bodies
        before = path.read_bytes()
        Core(root).close()
        assert path.read_bytes() == before


@settings(max_examples=100, deadline=None)
@given(places, texts, texts, damages)
def test_start_over_a_damaged_old_inbox_keeps_every_readable_line(
    place: str, old: list[str], new: list[str], harm: list[Damage]
) -> None:
    """What the ring does not hold is never removed while it can be read, unless it
    stands behind a line that has to be written again; then it is in quarantine."""
    with folder() as root:
        core = Core(root)
        core.commit(*(mail(place, text) for text in old))
        core.checkpoint()
        fresh = [mail(place, text) for text in new]
        core.commit(*fresh)
        core.close()
        path = inbox_path(root, place)
        path.write_bytes(damaged(path.read_bytes(), harm))
        readable = set(ids(root, place))
        core = Core(root)
        found = ids(root, place)
        core.close()
        aside = {one for path in root.glob("quarantine/*") for one in ids_in(path)}
        assert {m.id for m in fresh} <= set(found)
        assert readable - set(found) <= aside
        assert found[-len(fresh) :] == [m.id for m in fresh]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=6
    ),
    texts,
)
def test_damaged_ring_never_ends_a_start_and_hurts_no_standing_line(
    harm: list[tuple[float, int]], bodies: list[str]
) -> None:
    """Damaged records are dead and reported; what stands in an inbox stays."""
    with folder() as root:
        core = Core(root)
        mails = [mail("ada", text) for text in bodies]
        for one in mails:
            core.commit(one)
        used = core.committer.ring.ends[0]
        core.close()
        with (root / "ring").open("r+b") as file:
            for where, value in harm:
                # Not the version: a ring of another version is refused on purpose.
                file.seek(PAGE + int(where * (used - PAGE)))
                file.write(bytes([value]))
        core = Core(root)
        assert ids(root) == [m.id for m in mails]
        late = mail("ada")
        core.commit(late)
        assert late.seq == len(mails) + 1


@settings(max_examples=60, deadline=None)
@given(st.lists(st.booleans(), min_size=1, max_size=15), damages)
def test_ledger_numbers_only_grow(decisions: list[bool], harm: list[Damage]) -> None:
    """Evidence may be lost with its page; numbers are given once and in order."""
    with folder() as root:
        core = Core(root)
        durable = []
        for number, is_decision in enumerate(decisions, 1):
            one = entry(number)
            if is_decision:
                core.decide(one)
                durable.append(one.line.n)
            else:
                core.evidence(one)
        core.close()
        path = root / "mail/ada/ledger.jsonl"
        tail = path.read_bytes()
        # Damage to what nobody promised: behind the last decision's line.
        keep = max(
            (tail.index(b"\n", tail.index(b'"n":%d,' % n)) for n in durable), default=-1
        )
        harmed = [h for h in harm if h[0] in ("cut", "zero")]
        path.write_bytes(tail[: keep + 1] + damaged(tail[keep + 1 :], harmed))
        core = Core(root)
        late = entry(99)
        core.evidence(late)
        core.close()
        numbers = [line.n for line in _readable(path) if line.n]
        assert numbers == sorted(set(numbers))
        assert set(durable) <= set(numbers)
        assert numbers[-1] == late.line.n


def _readable(path: Path) -> list[LedgerLine]:
    """The ledger lines that can be read."""
    lines = [found for _, found in iter_ledger(path)]
    return [line for line in lines if isinstance(line, LedgerLine)]
