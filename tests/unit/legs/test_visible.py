"""What homi.visible shows of text that others wrote."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homi.visible import visible, visible_lines

HOSTILE = st.text(
    st.one_of(
        st.characters(),
        st.characters(categories=["Cs"]),
        st.sampled_from("\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029\x1b\u202e\u200b"),
        st.sampled_from(["\U000e0041", "\U000e0101", "\ufe0f", "\t", "\x9b", "❤"]),
    )
)
ACTIVE = ("Cc", "Cf", "Cs", "Zl", "Zp")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J", "\\x1b[2J"),
        ("\x1b]52;c;aGk=\x07", "\\x1b]52;c;aGk=\\x07"),
        ("\u202egpj.exe", "\\u202egpj.exe"),
        ("a\u200bb\ufeff", "a\\u200bb\\ufeff"),
        ("\U000e0041", "\\U000e0041"),
        ("x\U000e0101", "x\\U000e0101"),
        ("\x9b31m", "\\x9b31m"),
        ("\ud800", "\\ud800"),
        ("a\r\nb", "a\\r\\nb"),
        ("line\u2028sep", "line\\u2028sep"),
        ("\u3164", "\\u3164"),
    ],
)
def test_what_acts_or_hides_is_shown_escaped(text: str, shown: str) -> None:
    """Neither a terminal nor a model may get a character nobody sees."""
    assert visible(text) == shown


@pytest.mark.parametrize("text", ["plain", "a\tb", "日本語 ü", "❤\ufe0f ok", "C:\\x1b"])
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    """Positive control: escaping costs nobody the readable."""
    assert visible(text) == text


def test_the_emoji_style_is_kept_once_behind_a_symbol_only() -> None:
    """A run of variation selectors can carry bytes unseen."""
    assert visible("❤\ufe0f\ufe0f") == "❤\ufe0f\\ufe0f"
    assert visible("a\ufe0f") == "a\\ufe0f"


@given(HOSTILE)
def test_no_text_keeps_an_active_character(text: str) -> None:
    """Whatever comes in, the categories that act or hide are gone but the tab."""
    for char in visible(text):
        assert char == "\t" or unicodedata.category(char) not in ACTIVE


@given(HOSTILE)
def test_no_reader_finds_a_line_end_inside_a_visible_line(text: str) -> None:
    """A line that some reader splits again would stand there without its prefix."""
    for line in visible_lines(text):
        assert len(line.splitlines()) <= 1


def test_line_marks_other_than_lf_and_crlf_stay_shown() -> None:
    """Nothing of the text is lost on the way to the reader."""
    assert visible_lines("a\r\nb\rc\u2028d\n") == ["a", "b\\r", "c\\u2028", "d"]
    assert visible_lines("") == [""]
