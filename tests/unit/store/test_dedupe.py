"""Known ids: a hint in memory that is proven by the line on disk."""

import tracemalloc

from homi.envelope import MessageId
from homi.store.dedupe import MASK, Dedupe, Stored, key_of
from tests.unit.store.commit_kit import mail


def line_of(text: str, message: str, seq: int = 1) -> bytes:
    """An inbox line."""
    return b'{"v":1,"seq":%d,%b' % (seq, mail("ada", text, MessageId(message)).tail)


def msg_of(text: str, message: str) -> bytes:
    """The bytes of that message."""
    return mail("ada", text, MessageId(message)).msg


def test_hit_tells_where_and_whether_the_bytes_are_the_same() -> None:
    """The first content under an id wins; another one is a conflict."""
    known = Dedupe()
    key = key_of("uid:1000", "a")
    known.add(key, 7)
    line = line_of("hello", "a", seq=3)
    lines = {7: line}
    same = known.look(key, "uid:1000", "a", msg_of("hello", "a"), lines.__getitem__)
    assert same == Stored(3, 7, len(line), same=True)
    other = known.look(key, "uid:1000", "a", msg_of("bye", "a"), lines.__getitem__)
    assert other == Stored(3, 7, len(line), same=False)


def test_hash_alone_proves_nothing() -> None:
    """Two ids of one hash are two messages, and both are found later."""
    known = Dedupe()
    lines = {0: line_of("one", "a", 1), 500: line_of("two", "b", 2)}
    known.add(5, 0)
    assert known.look(5, "uid:1000", "b", b"", lines.__getitem__) is None
    known.add(5, 500)
    first = known.look(5, "uid:1000", "a", msg_of("one", "a"), lines.__getitem__)
    second = known.look(5, "uid:1000", "b", msg_of("two", "b"), lines.__getitem__)
    assert first is not None
    assert first.seq == 1
    assert second is not None
    assert second.seq == 2


def test_same_id_of_another_origin_is_another_message() -> None:
    """Whoever guesses an id must not be able to have it dropped."""
    known = Dedupe()
    key = key_of("uid:1", "a")
    known.add(key, 0)
    lines = {0: line_of("one", "a")}  # its via says uid:1000
    assert known.look(key, "uid:1", "a", msg_of("one", "a"), lines.__getitem__) is None


def test_damaged_line_is_not_believed() -> None:
    """What cannot be read any more does not answer for its id."""
    known = Dedupe()
    key = key_of("uid:1000", "a")
    known.add(key, 0)
    lines = {0: b'{"v":1,"seq":1,"at'}
    assert known.look(key, "uid:1000", "a", b"", lines.__getitem__) is None


def test_moved_lines_are_known_at_their_new_places_only() -> None:
    """A repair cuts and appends; an old offset would read somebody else's line."""
    known = Dedupe()
    for message, offset in (("a", 0), ("b", 400), ("c", 800)):
        known.add(key_of("uid:1000", message), offset)
    known.moved(400, [(401, line_of("two", "b"))])
    assert known == {key_of("uid:1000", "a"): 0, key_of("uid:1000", "b"): 401}


def test_chain_loses_only_what_moved() -> None:
    """Of two ids of one hash, one may stand before the cut."""
    known = Dedupe()
    known.add(5, 0)
    known.add(5, 900)
    known.moved(400, [])
    assert known == {5: 0}


def test_an_id_costs_little_memory() -> None:
    """Ids are kept for every line of an inbox: 120 bytes each at most."""
    count = 100_000
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        known = Dedupe()
        for number in range(count):
            known.add(hash(("uid:1000", str(number))) & MASK, 1000 * number)
        used = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert used / count <= 120
