"""Tables on a terminal: whole cells, in columns, with nothing behind them."""

import pytest

from homi.cli import screen


def test_columns_are_aligned_and_no_line_ends_in_blanks() -> None:
    """Blanks at the end wrap on a narrow terminal, and stick to what is copied."""
    rows = [("ada", "held", 0, ""), ("gds-agent", "", 12, "4s")]
    assert screen.aligned(("NAME", "STATE", "PENDING", "OLDEST"), rows).split("\n") == [
        "NAME       STATE  PENDING  OLDEST",
        "ada        held   0",
        "gds-agent         12       4s",
    ]


def test_a_table_without_a_head_has_none() -> None:
    """Pairs explain themselves."""
    assert screen.aligned(("", ""), [("pid", "7"), ("root", "/x")]) == (
        "pid   7\nroot  /x"
    )


@pytest.mark.parametrize("wide", ["中文", "😀", "é中"])
def test_a_wide_character_takes_two_places(wide: str) -> None:
    """What stands behind it is under its head all the same."""
    lines = screen.aligned(("A", "B"), [(wide, "x"), ("abcd", "y")]).split("\n")
    assert lines == [
        "A     B",
        f"{wide}{' ' * (6 - screen.cell_len(wide))}x",
        "abcd  y",
    ]


def test_nothing_is_cut_or_acted_on() -> None:
    """An id stays whole however narrow the terminal is."""
    assert "x" * 300 in screen.aligned(("A",), [("x" * 300,)])
    assert "\x1b" not in screen.aligned(("A",), [("\x1b[2J",)])
