"""Frames under any input: nothing raises, nothing escapes its tag."""

import json

from hypothesis import given
from hypothesis import strategies as st

from homi.peers import frame
from homi.peers.frame import Auth, Bad, Control, Message, Unknown

ID = "7620e5df-0000-4000-8000-00000000abcd"
KINDS = (Auth, Bad, Control, Message, Unknown)
CLOSE = "</cross-session-message>"

clean = st.text(st.characters(exclude_categories=["Cs"]))
TAG = '<cross-session-message from="uds:/x">'
WORDS = ["<", "/", ">", " ", "\n", "\\", '"', "a", "é", TAG, CLOSE, CLOSE.upper()]
pieces = st.lists(st.sampled_from([*WORDS, "cross-session-message"])).map("".join)
texts = clean | pieces
leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
values = st.recursive(
    leaves, lambda v: st.lists(v) | st.dictionaries(st.text(), v), max_leaves=20
)
fields = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["user", "auth", "control", "x"]) | values,
        "message": st.fixed_dictionaries({"content": values}) | values,
        "token": values,
        "action": st.just("peer_message_status") | values,
        "status": st.sampled_from(["held", "dropped"]) | values,
        "dropped_msg_ids": st.lists(values) | values,
        "msg_id": values,
        "orig_msg_id": values,
        "from": values,
        "session_id": values,
    },
)


@given(st.binary())
def test_any_bytes_give_a_frame(line: bytes) -> None:
    """The door is open to every process of the user."""
    assert isinstance(frame.parse_line(line), KINDS)


@given(fields)
def test_any_json_gives_a_frame(value: dict[str, object]) -> None:
    """Fields of any type, NaN, lone surrogates and big numbers included."""
    found = frame.parse_line(json.dumps(value).encode())
    assert isinstance(found, KINDS)
    if isinstance(found, Message):
        assert found.content
        found.content.encode()
    if isinstance(found, Control):
        assert all(frame.is_message_id(each) for each in found.about)


@given(texts, clean | pieces, st.sampled_from(["prompting", "bypass", None, "x"]))
def test_a_built_tag_is_read_back_as_one_tag(
    text: str, name: str, mode: str | None
) -> None:
    """Whatever text and name hold, there is one sender and one text."""
    content = frame.build_tag(text, "/r/1.sock", name, mode)
    found = frame.parse_tag(content)
    assert found is not None
    assert found.text == frame.defuse(text)
    assert found.socket == "/r/1.sock"
    assert (found.from_name or "") == frame.clean_name(name)
    assert found.from_mode == (mode if mode in frame.MODES else None)
    assert content.lower().count(CLOSE) == 1


@given(texts)
def test_defusing_twice_changes_nothing_more(text: str) -> None:
    """Stored text that was defused by its sender passes again unchanged."""
    once = frame.defuse(text)
    assert frame.defuse(once) == once


@given(texts)
def test_a_built_message_is_one_line_that_reads_back(text: str) -> None:
    """The session splits on the line feed alone."""
    content = frame.build_tag(text, "/r/1.sock")
    raw = frame.build_message(content, ID, "/r/1.sock", token="0" * 32)
    auth, line, rest = raw.split(b"\n")
    assert rest == b""
    assert isinstance(frame.parse_line(auth), Auth)
    found = frame.parse_line(line)
    assert isinstance(found, Message)
    assert found.content == content


@given(st.text(st.characters(exclude_characters="\0")))
def test_any_socket_path_survives_its_address(path: str) -> None:
    """Encoded into the attribute's safe characters, decoded to the same path."""
    absolute = "/" + path.encode("utf-8", "replace").decode()
    address = frame.address_of(absolute)
    assert set(address) <= set(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-%:"
    )
    assert frame.socket_of(address) == absolute
