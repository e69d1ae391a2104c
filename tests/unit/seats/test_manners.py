"""When a seat is left alone, what of a text is typed, and which answer is meant."""

import pytest

from homi.doors.driving import chosen
from homi.errors import BadMessage, HomiError, NotAllowed, Usage
from homi.seats.manners import HANDS_OFF, Why, against, typeable
from homi.seats.menu import Menu
from homi.seats.screen import Pane, read
from homi.seats.server import Look, Seat
from homi.seats.tmux import literal
from homi.seats.typist import stands
from homi.seats.view import State, View

NOW = 1000.0


def look(view: View, *, typed: float = 0.0, copy: bool = False) -> Look:
    pane = Pane(copy_mode=copy)
    seat = Seat(name="ada", pane=pane)
    return Look(seat=seat, screen=read("", pane), view=view, typed=typed)


IDLE = View(state=State.IDLE, composer=3)


@pytest.mark.parametrize(
    ("seen", "why"),
    [
        (look(IDLE), None),
        (look(IDLE, typed=NOW - HANDS_OFF), None),
        (look(IDLE, typed=NOW - 1), Why.TYPING),
        (look(IDLE, copy=True), Why.COPY_MODE),
        (look(View(state=State.IDLE, composer=3, draft=True)), Why.DRAFT),
        (look(View(state=State.IDLE)), Why.UNKNOWN),
        (look(View(state=State.APPROVAL, draft=True)), Why.APPROVAL),
        (look(View(state=State.BUSY, composer=3)), Why.BUSY),
        (look(View(state=State.BUSY, composer=3, draft=True)), Why.DRAFT),
        (look(View(state=State.BOOTING)), Why.BOOTING),
        (look(View(state=State.UNKNOWN)), Why.UNKNOWN),
        (look(View(state=State.DEAD), copy=True), Why.DEAD),
    ],
)
def test_a_seat_is_typed_into_only_where_nobody_else_is_at_it(
    seen: Look, why: Why | None
) -> None:
    assert against(seen, NOW) == why


def test_of_a_text_only_what_a_terminal_does_not_act_on_is_typed() -> None:
    assert typeable("a\tb\r\nc\rd\x00\x1b[1mü\x9b2J\n\n", several=True) == (
        "a\tb\nc\nd[1mü2J"
    )
    for text in ("", " \n\t", "x\x1b[201~y", "x\x9b201~y"):
        with pytest.raises(BadMessage):
            typeable(text, several=True)
    with pytest.raises(BadMessage):
        typeable("a\u2028b", several=False)
    assert typeable("a\n", several=False) == "a"


def test_what_stands_in_a_line_is_the_text_or_a_part_that_can_be_no_other() -> None:
    long = " ".join(f"word{n}" for n in range(60))
    assert stands("two\nlines here", "two lines here")
    assert stands(long, "[Pasted text #1 +12 lines]")
    assert stands(long, long[100:180])
    assert not stands(long, "word1")
    assert not stands("two lines", "two lines and a third")
    assert not stands("two lines", "")
    assert not stands(long, "[Pasted text #1 +12 lines] and more")


def test_a_semicolon_at_the_end_of_a_word_is_no_end_of_a_command() -> None:
    """tmux takes one so, wherever it stands."""
    assert literal("a;") == "a\\;"
    assert literal(";") == "\\;"
    assert literal("a;b") == "a;b"


MENU = Menu(
    kind="bash",
    options=["Yes", "Yes, and don't ask again for: git *", "No", "No, and tell it why"],
    highlighted=0,
)


@pytest.mark.parametrize(
    ("given", "index"),
    [("1", 0), ("yes", 0), ("No", 2), ("no, and", 3), ("4", 3)],
)
def test_an_answer_is_meant_by_its_number_or_its_beginning(
    given: str, index: int
) -> None:
    assert chosen(MENU, given) == index


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ("2", NotAllowed),
        ("Yes, and", NotAllowed),
        ("0", Usage),
        ("5", Usage),
        ("", Usage),
        ("maybe", Usage),
        ("99999999999999999999", Usage),
    ],
)
def test_what_lasts_or_is_no_option_is_not_chosen(
    given: str, error: type[HomiError]
) -> None:
    with pytest.raises(error):
        chosen(MENU, given)


def test_a_menu_that_was_not_read_in_full_is_not_answered() -> None:
    half = Menu(kind="bash", options=MENU.options, highlighted=0, complete=False)
    with pytest.raises(BadMessage):
        chosen(half, "1")
