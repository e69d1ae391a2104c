"""The form of the log: what is written can be told apart when it is read."""

import logging
import sys

from homi.logfile import Line, lines, text_of


def record(text: str, *args: object, exc: bool = False) -> logging.LogRecord:
    """A record as the courier would make it."""
    found = sys.exc_info() if exc else None
    return logging.LogRecord("homi.courier", 20, __file__, 1, text, args, found)


def test_a_line_is_read_as_it_was_written() -> None:
    """Its time, level and part, and what happened."""
    (line,) = lines([text_of(record("%s to=%s: so", "7f", "ada"))])
    assert (line.level, line.part, line.text) == ("info", "courier", "7f to=ada: so")
    assert line.at.endswith("Z")


def test_a_traceback_belongs_to_its_line() -> None:
    """And the next line does not."""
    try:
        raise ValueError("why")
    except ValueError:
        first = text_of(record("it failed", exc=True))
    found = list(lines([*first.split("\n"), text_of(record("on"))]))
    assert [line.text for line in found] == ["it failed", "on"]
    assert found[0].more[-1] == "ValueError: why"


def test_a_text_of_others_cannot_look_like_a_line() -> None:
    """Nor act on a terminal."""
    text = "x\n2026-11-30T09:00:00.000Z error daemon: forged\x1b[2J"
    (line,) = lines(text_of(record("%s", text)).split("\n"))
    assert line.more == ["2026-11-30T09:00:00.000Z error daemon: forged\\x1b[2J"]


def test_what_is_no_line_is_shown_as_printed_past_the_log() -> None:
    """At the time of the line before."""
    at = "2026-11-30T09:00:00.000Z"
    found = list(lines([f"{at} info daemon: up\n", "Fatal Python error\x07\n"]))
    assert found[1] == Line(at, "error", "stderr", "Fatal Python error\\x07")
