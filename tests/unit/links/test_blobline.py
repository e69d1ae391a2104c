"""What is said beside the bytes of a blob is bounded, and its bytes are none of it."""

import pytest

from homi.errors import BadMessage, HomiError, NotAllowed, NotReached
from homi.links import blobline
from homi.links.blobline import LINE_MAX, NOISE_MAX, Lines


def fed(data: bytes) -> Lines:
    """Lines of that stream."""
    lines = Lines()
    lines.feed(data)
    return lines


def test_noise_before_the_first_line_is_passed_over_and_bytes_follow() -> None:
    """What a shell prints; the bytes of a blob may look like anything."""
    lines = fed(b'motd {\n{"a":1}\nhello' + blobline.holds(9) + b'{"f":"by\n')
    assert lines.line() == {"f": "blob", "size": 9}
    assert (lines.take(5), lines.take(9)) == (b'{"f":', b'"by\n')
    assert lines.line() is None
    lines.feed(blobline.done())
    blobline.ended(lines.line() or {})


def test_a_line_comes_in_pieces() -> None:
    lines = Lines()
    for byte in blobline.has(77)[:-1]:
        lines.feed(bytes([byte]))
        assert lines.line() is None
    lines.feed(b"\n")
    assert lines.line() == {"f": "blob", "at": 77}
    with pytest.raises(NotReached):
        lines.feed(b"")


def test_what_the_other_end_tells_is_raised_as_what_it_is() -> None:
    """Also in the words of an exchange."""
    told = NotAllowed("no such grant", reason="policy")
    with pytest.raises(NotAllowed, match="it says: no such grant") as raised:
        fed(blobline.bye(told)).line()
    assert raised.value.reason == "policy"
    with pytest.raises(HomiError, match="it says: "):
        fed(b'{"f":"bye","reason":"auth"}\n').line()


@pytest.mark.parametrize(
    "data",
    [
        b"x" * (NOISE_MAX + 1),
        b"x\n" * NOISE_MAX,
        b'{"f":"' + b"x" * NOISE_MAX,
        b'{"f":"blob",\n',
        b'{"f":"blob","at":' + b"[" * 4000 + b"\n",
        blobline.has(1) + b"x" * (LINE_MAX + 1),
    ],
    ids=range(6),
)
def test_a_stream_that_speaks_of_no_blob_is_left(data: bytes) -> None:
    with pytest.raises(BadMessage):
        list(iter(fed(data).line, None))


@pytest.mark.parametrize("size", [None, -1, 11, "1", 1.0, True, []])
def test_a_number_of_bytes_is_one_within_its_bound(size: object) -> None:
    with pytest.raises(BadMessage):
        blobline.count({"size": size}, "size", 10)
    assert blobline.count({"size": 10}, "size", 10) == 10
    with pytest.raises(BadMessage):
        blobline.ended({"f": "blob"})
