"""Every recorded screen, and what becomes of it at other sizes and with other words."""

import re
from typing import Any

import msgspec
import pytest

from homi.seats.screen import Line, Screen
from homi.seats.states import judge
from homi.seats.view import State, View
from tests.unit.seats.recorded import records, screen_of

RECORDS = records()
LIVE = [r for r in RECORDS if not r["pane_dead"]]
ASKING = [r for r in LIVE if r["approval"]]
TAKES = {State.IDLE}
# Two rows of the question are an own choice each: a person must answer it.
SEVERAL = {"claude/391-question-multiselect-120"}


def wrong(pairs: list[tuple[dict[str, Any], View]]) -> list[tuple[str, View]]:
    return [(r["id"], view) for r, view in pairs if view.state not in r["accept"]]


def judged(found: list[dict[str, Any]]) -> list[tuple[dict[str, Any], View]]:
    return [(r, judge(screen_of(r))) for r in found]


def moved(screen: Screen, rows: int) -> Screen:
    """The same with that many rows less (or, negative, empty ones more) above."""
    lines = [Line("", ())] * -rows + list(screen.lines[max(0, rows) :])
    column, row = screen.pane.cursor
    pane = msgspec.structs.replace(screen.pane, cursor=(column, row - rows))
    return Screen(pane, lines)


def reworded(screen: Screen, words: dict[str, str]) -> Screen:
    def one(line: Line) -> Line:
        text = line.text
        for old, new in words.items():
            text = text.replace(old, new)
        if text == line.text:
            return line
        shade = line.faint[-1] if line.faint else False
        faint = (*line.faint, *([shade] * len(text)))[: len(text)]
        return Line(text, faint)

    return Screen(screen.pane, [one(line) for line in screen.lines])


def test_every_recorded_screen_gets_a_state_that_its_label_allows() -> None:
    assert len(RECORDS) == 391
    assert wrong(judged(RECORDS)) == []


def test_a_draft_is_seen_wherever_no_dialog_covers_it() -> None:
    found = [(r, v) for r, v in judged(LIVE) if not v.hidden]
    assert len(found) > 250
    assert [(r["id"], v) for r, v in found if v.draft != r["draft"]] == []


def test_what_a_dialog_asks_is_read_in_full_with_what_is_highlighted() -> None:
    assert len(ASKING) == 79
    for record, view in judged(ASKING):
        label = record["approval"]
        menu = view.menu
        assert menu is not None, record["id"]
        found = {
            "kind": menu.kind,
            "options": menu.options,
            "highlighted": menu.highlighted,
        }
        assert found == label, record["id"]
        assert menu.complete == (record["id"] not in SEVERAL), record["id"]


def test_no_other_screen_seems_to_ask() -> None:
    quiet = [r for r in RECORDS if not r["approval"]]
    assert [r["id"] for r, view in judged(quiet) if view.menu is not None] == []


@pytest.mark.parametrize("rows", [1, 3, -4, -30])
def test_the_state_holds_at_other_heights(rows: int) -> None:
    """Rows above the composer come and go with the height of a terminal."""
    fitting = [
        (r, screen)
        for r, screen in ((r, screen_of(r)) for r in LIVE)
        if r["surface"] in ("claude", "codex") and screen.pane.cursor[1] > rows + 12
    ]
    assert len(fitting) > 50
    found = wrong([(r, judge(moved(screen, rows))) for r, screen in fitting])
    # Where the head of a dialog is cut off nobody can say what it asks.
    assert [
        (name, view)
        for name, view in found
        if rows < 0 or "approval" not in name or view.state is not State.UNKNOWN
    ] == [
        (
            "codex/237-hooks-review-120",
            View(state=State.UNKNOWN, hidden=True),
        )
    ] * (rows == 3)


def narrower(screen: Screen, width: int) -> Screen:
    """The same with lines that are drawn across the screen drawn across less."""
    lines = []
    for line in screen.lines:
        found = re.match(r"^(\s*)([─▔╌])\2{20,}$", line.text.rstrip())
        text = line.text if found is None else found[1] + found[2] * width
        lines.append(line if found is None else Line(text, (False,) * len(text)))
    return Screen(screen.pane, lines)


@pytest.mark.parametrize("width", [30, 61, 400])
def test_the_state_holds_at_other_widths(width: int) -> None:
    narrow = [(r, judge(narrower(screen_of(r), width))) for r in LIVE]
    assert wrong(narrow) == []


def test_the_state_holds_with_other_words() -> None:
    """What a model, a folder or a command is called is nobody's rule."""
    words = {
        "Opus 5.5": "Sonata 9",
        "fake-model default": "gpt-x high",
        "/tmp/demo/app": "~/src/größer",
        "npm install left-pad": "cargo add serde",
        "git push": "1. Yes",
        "SQLite": "Ein Baum",
        "demo@host": "root@prod",
        "step": "❯ 1. Yes",
    }
    assert wrong([(r, judge(reworded(screen_of(r), words))) for r in LIVE]) == []


def test_a_screen_that_quotes_another_is_judged_by_its_own_foot() -> None:
    """A model shows recorded dialogs and spinners in its answer: as text, indented."""
    quotes = [screen_of(r).lines for r in ASKING[:8] + ASKING[-8:]]
    idle = [r for r in LIVE if r["accept"] == ["idle"] and r["surface"] != "shell"]
    for record in idle[::7]:
        screen = screen_of(record)
        was = judge(screen)
        for lines in quotes:
            quoted = [
                Line("  " + line.text, (False, False, *line.faint)) for line in lines
            ]
            answer = [Line("● It looked so:", (False,) * 15), *quoted]
            at = max(0, was.composer - 2)
            column, row = screen.pane.cursor
            pane = msgspec.structs.replace(
                screen.pane, cursor=(column, row + len(answer))
            )
            shown = [*screen.lines[:at], *answer, *screen.lines[at:]]
            now = judge(Screen(pane, shown))
            assert (now.state, now.draft) == (State.IDLE, was.draft), record["id"]


def test_a_dialog_that_is_half_drawn_takes_no_line_and_is_not_answered() -> None:
    """Cut at any row from below, what asks is never taken for a line to type in, and
    is complete only while all its options are there."""
    for record in ASKING:
        screen = screen_of(record)
        count = len(record["approval"]["options"])
        for rows in range(screen.last):
            cut = Screen(screen.pane, list(screen.lines[: screen.last - rows]))
            view = judge(cut)
            assert view.state is not State.IDLE or view.draft, (record["id"], rows)
            if view.menu is not None and len(view.menu.options) < count:
                shown = view.menu.options
                known = record["approval"]["options"][: len(shown)]
                assert not view.menu.complete or shown == known, record["id"]


def test_nothing_lasting_is_taken_for_an_answer_of_once() -> None:
    once = {
        "Yes",
        "Yes, proceed (y)",
        "Allow Run the tool and continue",
        "Deliver this message to Claude",
        "Yes, implement this plan Switch to Default and start coding",
        "Yes, clear context and implement Fresh thread with this plan",
    }
    kept = {"trust", "mcp-server", "bypass-warning", "api-key", "hooks-review"}
    checked = set()
    for record, view in judged(ASKING):
        menu = view.menu
        assert menu is not None
        for index, option in enumerate(menu.options):
            if re.match(r"(?i)(yes|allow|always|use this|trust|deliver)", option):
                lasting = option not in once or menu.kind in kept
                assert menu.lasting(index) == lasting, (record["id"], option)
                checked.add(lasting)
            if re.match(r"(?i)(no|deny|cancel|back|continue without)\b", option):
                assert not menu.lasting(index), (record["id"], option)
    assert checked == {True, False}
