"""Frames out of a stream that an rc file began."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homi.config import LINE_MAX_ALONE
from homi.links.lines import NOISE_MAX, Frames

HELLO, BYE = b'{"f":"hello","v":1}', b'{"f":"bye","reason":"auth"}'


class Sink:
    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.over: list[int] = []
        self.frames = Frames(self.lines.append, self.over.append)


@given(st.lists(st.integers(1, 30), max_size=12), st.data())
def test_lines_are_whole_however_the_stream_is_cut(
    sizes: list[int], data: st.DataObject
) -> None:
    lines = [b'{"f":"hello","x":%d}' % (10**size) for size in sizes]
    stream = b"Welcome!\n\n$ \n" + b"".join(line + b"\n" for line in lines)
    sink = Sink()
    while stream:
        cut = data.draw(st.integers(1, len(stream)))
        sink.frames.feed(stream[:cut])
        stream = stream[cut:]
    assert sink.lines == lines
    assert sink.over == []
    assert sink.frames.noise == "2 lines before the first frame: Welcome!\n\n$"


def test_behind_the_first_frame_nothing_is_noise() -> None:
    """What is no frame then is the other end's fault, and is judged as that."""
    sink = Sink()
    sink.frames.feed(b"noise\n" + HELLO + b"\nnoise\n")
    assert sink.lines == [HELLO, b"noise"]


@pytest.mark.parametrize(
    "noise",
    [b"{", b"{}", b"{1}", b'{"a":1}', b'{"f":1}', b'{"f":"mail"}', b'{"f":"hello"'],
)
def test_what_only_looks_like_a_frame_is_noise(noise: bytes) -> None:
    """A shell may print anything; it is counted and shown, and breaks no link."""
    sink = Sink()
    sink.frames.feed(noise + b"\n\n" + HELLO + b"\n" + BYE + b"\n")
    assert sink.lines == [HELLO, BYE]
    assert sink.frames.noise == f"1 line before the first frame: {noise.decode()}"


def test_a_bye_may_be_the_first_word() -> None:
    """Of an end that has no daemon to say hello."""
    sink = Sink()
    sink.frames.feed(b"{noise}\n" + BYE + b"\n")
    assert sink.lines == [BYE]


def test_a_line_in_braces_without_an_end_is_noise_too() -> None:
    """No first frame is so long."""
    sink = Sink()
    sink.frames.feed(b"{" + b"x" * (NOISE_MAX + 1))
    assert (sink.lines, len(sink.over)) == ([], 1)
    assert sink.frames.drowned


@pytest.mark.parametrize("noise", [b"x" * 100 + b"\n", b"x" * 100])
def test_noise_without_end_ends_it_once_and_little_is_kept(noise: bytes) -> None:
    sink = Sink()
    for _ in range(NOISE_MAX // 100 + 100):
        sink.frames.feed(noise)
    assert len(sink.over) == 1
    assert sink.frames.drowned
    assert 0 < len(sink.frames.noise) <= 240
    sink.frames.feed(b"{}\n")
    assert sink.lines == []


def test_as_much_noise_as_is_allowed_is_passed_over() -> None:
    sink = Sink()
    sink.frames.feed(b"x" * (NOISE_MAX - 1) + b"\n" + HELLO + b"\n")
    assert (sink.lines, sink.over) == ([HELLO], [])


def test_a_frame_without_an_end_is_cut_off() -> None:
    sink = Sink()
    sink.frames.feed(HELLO + b"\n{")
    for _ in range((LINE_MAX_ALONE >> 20) + 1):
        sink.frames.feed(b"x" * (1 << 20))
    assert len(sink.over) == 1
    assert not sink.frames.drowned
