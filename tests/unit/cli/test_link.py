"""How links are shown to a person."""

import io
import sys
import time

import pytest

from homi.cli import link, output
from homi.clock import rfc3339
from homi.linked import LinkRow
from homi.links.state import LinkState


class Out(io.TextIOWrapper):
    """What is printed, for a person or a program."""

    def __init__(self, *, person: bool) -> None:
        """person: somebody looks."""
        super().__init__(io.BytesIO(), encoding="utf-8")
        self._person = person

    def isatty(self) -> bool:
        return self._person

    def lines(self) -> list[str]:
        """What was printed."""
        self.flush()
        self.seek(0)
        return self.read().splitlines()


def _rows() -> list[LinkRow]:
    """A link in each state, one behind another device, one that was accepted."""
    now = time.time()
    words = {
        "since": rfc3339(now - 40 * 86_400),
        "text": "the words of who said it",
        "fix": "what mends it",
        "oldest": rfc3339(now - 23 * 3_600),
        "next_try": rfc3339(now + 299),
    }
    rows = [
        LinkRow(device=f"buildbox-{n}", state=state, host="me@box", pending=9, **words)
        for n, state in enumerate(LinkState, 10)
    ]
    return [
        *rows,
        LinkRow(device="attic", state="up", via="mini-in-the-cellar"),
        LinkRow(device="max", state="up", host="max", way="accepted", offset_s=-61.0),
        LinkRow(device="mini", state="up", host="mini", way="dialled", ms=1234.5),
        LinkRow(device="mute", state="up", host="mute", heard=rfc3339(now - 40)),
    ]


def _shown(monkeypatch: pytest.MonkeyPatch, *, person: bool) -> list[str]:
    """The lines of the table, then those below it."""
    screen = Out(person=person)
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    output.table(link.COLUMNS, [link._cells(row) for row in _rows()])
    if output.terminal():
        for row in _rows():
            link._explain(row)
    return screen.lines()


def test_links_in_every_state_fit_into_eighty_places(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """State, since when and next try whole; who said what and the fix below."""
    lines = _shown(monkeypatch, person=True)
    table = lines[: len(_rows()) + 1]
    assert max(map(len, table)) <= 80
    for state, line in zip(LinkState, table[1:], strict=False):
        assert f" {state} " in line
        assert " 40d " in line
        assert line.endswith(("in 4m", "in 5m"))
    assert "buildbox-12: the words of who said it" in lines
    assert "buildbox-12: to mend it: what mends it" in lines
    assert "max: its clock is 61 s behind this one" in lines
    ways = {line.split()[0]: line for line in table}
    assert "  heard 40s  " in ways["mute"]
    assert "  over min" in ways["attic"]
    assert "  accepted" in ways["max"]
    assert "  to mini" in ways["mini"]


def test_a_program_has_each_field_of_a_link_in_its_own_column(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing is cut there."""
    rows = [line.split("\t") for line in _shown(monkeypatch, person=False)]
    assert [row[7:9] for row in rows[-4:-1]] == [
        ["over mini-in-the-cellar", "-"],
        ["accepted", "max"],
        ["dialled", "mini"],
    ]
    assert rows[0][-1] == "the words of who said it; what mends it"
