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


def test_a_column_in_which_nothing_stands_is_left_out() -> None:
    """What is not there needs no room."""
    rows = [("ada", "", "x"), ("bob", None, "")]
    assert screen.aligned(("NAME", "OWNER", "NOTE"), rows) == (
        "NAME  NOTE\nada   x\nbob"
    )


def test_a_name_that_leaves_no_room_stands_alone_and_whole() -> None:
    """It is what is copied; the rows of shorter names stay as they are."""
    heads, long = ("NAME", "STATE", "PENDING", "ANSWERS"), "n" * 30
    rows = [("ada", "live", 0, "0.2 ms"), (long, "held", 12, "0.1 ms")]
    assert screen.aligned(heads, rows, 40).split("\n") == [
        "NAME      STATE  PENDING  ANSWERS",
        "ada       live   0        0.2 ms",
        long,
        "          held   12       0.1 ms",
    ]
    assert len(screen.aligned(heads, rows, 80).split("\n")) == 3


def test_what_is_whole_at_the_end_stands_behind_a_row_of_two_lines(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind the second of them, and each row has its own."""
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("NO_COLOR", "1")
    heads, long = ("NAME", "STATE", "PENDING", "NOTE"), "n" * 30
    rows = [("ada", "live", 0, "one"), (long, "held", 12, "two")]
    assert screen.draw_whole(heads, rows) == 0
    assert capsys.readouterr().out.splitlines() == [
        "NAME      STATE  PENDING  NOTE",
        "ada       live   0        one",
        long,
        "          held   12       two",
    ]


def test_the_widest_column_gives_way_and_an_id_never() -> None:
    """Half an id is no id; a text says something even when it is cut."""
    rows = [("7c10a9e2", "text " * 20, "from-" * 4)]
    _head, line = screen.aligned(("ID", "TEXT", "FROM"), rows, 40).split("\n")
    assert len(line) == 40
    assert line.startswith("7c10a9e2  text text")
    assert "…" in line
    (only,) = screen.aligned(("ID",), [("x" * 300,)], 40).split("\n")[1:]
    assert only == "x" * 300


def test_what_a_person_looks_for_first_is_whole_at_eighty_columns() -> None:
    """When a wake fires, which device, which seat: the rest gives way."""
    long = "reviewer-of-the-northern-branch"
    row = ("2027-01-05 09:30", "35d", "18m", long, "cron 0 9 * * 1-5 UTC", "on", "4483")
    heads = ("NEXT", "LEFT", "LAST", "NAME", "TRIGGER", "STATE", "ID")
    _head, line, rest = screen.aligned(heads, [row], 80).split("\n")
    assert line.endswith(long)
    assert all(cell in line for cell in row[:4])
    assert rest.split() == [*row[4].split(), "on", "4483"]
    for head in ("DEVICE", "SEAT", "ROOM", "MEMBER", "ALIAS"):
        assert long in screen.aligned((head, "CWD"), [(long, "/a" * 60)], 80)


def test_a_wide_character_is_never_halved() -> None:
    """Cut in the middle it would take a place more than the column has."""
    for width in range(20, 30):
        line = screen.aligned(("ID", "TEXT"), [("7c10", "中" * 30)], width).split("\n")
        assert screen.cell_len(line[1]) <= width


def test_only_the_state_is_coloured_and_only_where_it_may_be() -> None:
    """A name that is called live is a name."""
    columns, rows = ("NAME", "STATE", "NOTE"), [("live", "live", "no")]
    shown = screen.aligned(columns, rows, 80, colour=True).split("\n")[1]
    assert shown == "live  \x1b[32mlive\x1b[0m   no"
    assert "\x1b" not in screen.aligned(columns, rows, 80)


@pytest.mark.parametrize(
    ("environ", "wanted"),
    [
        ({"TERM": "xterm"}, True),
        ({"TERM": "xterm", "NO_COLOR": ""}, True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False),
        ({"TERM": "dumb"}, False),
        ({}, False),
    ],
)
def test_colour_is_for_those_who_want_it(
    environ: dict[str, str], wanted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NO_COLOR counts where it is not empty."""
    for variable in ("TERM", "NO_COLOR"):
        monkeypatch.delenv(variable, raising=False)
    for variable, value in environ.items():
        monkeypatch.setenv(variable, value)
    assert screen.colourful() is wanted


def test_what_does_not_fit_of_a_last_column_stands_whole_below_its_row(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A path that is cut names nothing."""
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setenv("NO_COLOR", "1")
    screen.draw_whole(("KEY", "ORIGIN"), [("a", "/x" * 20), ("b", "default")])
    assert capfd.readouterr().out.splitlines() == [
        "KEY  ORIGIN",
        "a",
        "    " + "/x" * 20,
        "b    default",
    ]


def test_what_fits_of_a_last_column_stands_under_its_head(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Else it would be read as one of the columns that are empty in its row."""
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setenv("NO_COLOR", "1")
    rows = [
        ("a", "one", "x" * 20),
        ("b", "", "so"),
        ("c", "three", ""),
        ("d", "", "-" * 16),
    ]
    screen.draw_whole(("KEY", "LEG", "BY"), rows)
    assert capfd.readouterr().out.splitlines() == [
        "KEY  LEG    BY",
        "a    one",
        "    " + "x" * 20,
        "b           so",
        "c    three",
        "d  " + "-" * 16,
    ]
