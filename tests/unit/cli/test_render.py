"""Forms of results: what a person sees, and what a program gets."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from homi import render
from homi.envelope import Kind, MessageId, Reason, Rung, SessionRef, Via
from homi.far import FarName
from homi.mail import Message
from homi.reports import SessionRow

TAILS = st.text("0123456789abcdef", min_size=12, max_size=12)
IDS = st.sets(TAILS, min_size=1, max_size=40).map(
    lambda tails: sorted(f"0199f3a2-61b4-7c7e-9d0e-{tail}" for tail in tails)
)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (59.9, "59s"), (60, "1m"), (7200, "2h"), (900_000, "10d"), (-5, "0s")],
)
def test_an_age_is_in_its_largest_unit(seconds: float, text: str) -> None:
    """A clock that stepped back makes nothing older than now."""
    assert render.age(seconds) == text


@given(IDS)
def test_short_ids_name_one_message_each(ids: list[str]) -> None:
    """What is shown can be typed back; four digits or more, but none in vain."""
    shown = render.short_ids(ids, ids)
    for message, short in shown.items():
        tail = message.rpartition("-")[2]
        assert tail.startswith(short)
        assert len(short) >= render.SHORTEST
        same = [other for other in ids if other.rpartition("-")[2].startswith(short)]
        assert same == [message]
        if len(short) > render.SHORTEST:
            fewer = [o for o in ids if o.rpartition("-")[2].startswith(short[:-1])]
            assert len(fewer) > 1


@given(st.text())
def test_a_cell_never_acts_on_a_terminal_nor_breaks_its_row(text: str) -> None:
    """Names and reasons are written by others, too."""
    cell = render.cell(text)
    assert not set(cell) & {"\t", "\n", "\r", "\x1b", "\x9b", "\u202e", "\u2028"}
    assert render.tabbed([text, "b"]).count("\t") == 1


def test_an_empty_cell_keeps_its_place() -> None:
    """Columns are counted by whoever cuts them out."""
    assert render.tabbed(["a", None, "", 0]) == "a\t-\t-\t0"


def test_what_is_the_same_of_several_names_is_said_once() -> None:
    """A folder that is wrong is wrong for every name in it."""
    notes = [
        ("ada", "not seen"),
        ("bob", ""),
        ("carl", "2 members"),
        ("eve", "not seen"),
    ]
    assert render.together(notes) == ["ada, eve: not seen", "carl: 2 members"]


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_json_is_the_same_for_both_and_harmless_on_a_terminal(text: str) -> None:
    """Its escapes are JSON's own: who reads the terminal's output is not misled."""
    for plain in (True, False):
        line = render.json_line({"text": text}, plain=plain)
        assert json.loads(line) == {"text": text}
        assert "\n" not in line
    shown = render.json_line({"text": text}, plain=True)
    assert shown.isascii()
    assert shown.isprintable()


def test_json_has_every_field_of_what_is_inside() -> None:
    """A field at its default is a fact, too."""
    line = json.loads(render.json_line({"via": Via(door="peer", uid=7)}, plain=False))
    assert line["via"]["verified"] is False
    assert line["via"]["device"] is None


def test_json_of_a_message_is_the_same_whether_or_not_it_holds_other_structs() -> None:
    """What is encoded as it is has the fields, and their order, of all others."""
    bare = Message(
        name="ada",
        id=MessageId("1"),
        from_="ü\u2028",
        kind=Kind.MAIL,
        at="",
        rung=Rung.HELD,
        reason=Reason.PACED,
        bytes=1,
        to="",
        changed="",
        pending=True,
    )
    rich = replace(bare, session=SessionRef(7, "1"), waits={"bob": ""})
    plain = [json.loads(render.json_line(bare, plain=plain)) for plain in (True, False)]
    assert plain[0] == plain[1]
    line = json.loads(render.json_line(rich, plain=False))
    assert list(line) == list(plain[1]) == list(Message.__struct_encode_fields__)
    assert line["session"] == {"pid": 7, "start": "1", "id": ""}
    assert line | {"session": None, "waits": {}} == plain[1]
    at_default = json.loads(render.json_line(FarName("ada"), plain=False))
    assert at_default["live"] is False


def test_a_body_is_shown_line_by_line_with_its_marks_escaped() -> None:
    """Nothing in a text can look like more than a text."""
    text = "one\ntwo\x1b[2J\r\nthree\u2028four\x9b31m"
    assert render.body(text).splitlines() == [
        "one",
        "two\\x1b[2J",
        "three\\u2028",
        "four\\x9b31m",
    ]


def test_a_session_is_named_by_pid_and_conversation() -> None:
    """Enough to find it, no more."""
    assert render.session(SessionRef(7, "1", "0199f3a2-61b4")) == "pid 7 (0199f3a2)"
    assert render.session(SessionRef(7, "1")) == "pid 7"
    assert render.session(None) == ""


def test_what_has_no_process_is_called_by_what_it_is() -> None:
    """Nobody can look at a process 0."""
    assert render.process(SessionRow(pid=7, client="claude")) == "pid 7"
    assert render.process(SessionRow(pid=0, client="command")) == "command"
    assert render.process(None) == ""
    assert render.session(SessionRef(0, "", "cat:ci-7c10")) == "cat:ci-7c10"
