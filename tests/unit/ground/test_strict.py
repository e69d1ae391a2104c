"""msg, read strictly: what a parser would pass over is refused with the fact."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homi import ids
from homi.envelope import Kind, MessageId, Msg, encode
from homi.errors import BadMessage
from homi.strict import parse_msg

ID = MessageId("01a229f5-1be6-7815-a799-031d49f0f6c1")
PLAIN = encode(Msg(id=ID, from_="ada", to="bob", text="hello"))
OPEN = PLAIN[:-1]


def test_a_plain_message_is_read() -> None:
    """The positive side of every refusal below."""
    msg = parse_msg(PLAIN)
    assert (msg.id, msg.from_, msg.to, msg.text) == (ID, "ada", "bob", "hello")
    assert msg.kind is Kind.MAIL


def test_unknown_fields_are_allowed() -> None:
    """A later sender's field must survive; the bytes are kept, not this struct."""
    assert parse_msg(OPEN + b',"sig":{"alg":"x","n":[1,2.5]}}').text == "hello"


@pytest.mark.parametrize(
    ("extra", "fact"),
    [
        (b',"x":1,"x":2}', "key 'x' twice"),
        (b',"id":"x"}', "key 'id' twice"),
        (b',"x":{"a":1,"a":1}}', "key 'a' twice"),
        (b',"x":1e400}', "not finite"),
        (b',"x":NaN}', "not usable"),
        (b',"x":Infinity}', "not usable"),
        (b',"x":' + b"9" * 5000 + b"}", "5000 digits"),
        (b',"x":"\\ud800"}', "not usable"),
        (b',"\\udfff":1}', "surrogate"),
        (b',"x":"\xff"}', "not usable"),
        (b',"x":' + b"[" * 32 + b"]" * 32 + b"}", "33 deep, the limit is 32"),
        (b',"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "recursion"),
        (b',"x":1', "truncated"),
        (b',"ttl_s":0}', "ttl_s is 0"),
        (b',"ttl_s":99999999999}', "ttl_s"),
        (b',"ttl_s":1.5}', "expected `int"),
        (b',"kind":"order"}', "not usable"),
        (b',"reply_to":"../x"}', "not a UUID"),
        (b',"mode":"root"}', "neither prompting nor bypass"),
    ],
)
def test_hostile_json_is_refused_with_the_fact(extra: bytes, fact: str) -> None:
    """Two readers that disagree on a message are an attack's way in."""
    with pytest.raises(BadMessage) as caught:
        parse_msg(OPEN + extra)
    assert fact.lower() in caught.value.text.lower()


@pytest.mark.parametrize(
    "raw",
    [
        b'{"id":"%b","from":"a","to":"b","text":"x","text" :"y"}',
        b'{"id":"%b","from":"a","to":"b","text":"x","\\u0074ext":"y"}',
        b'{"id":"%b","from":"a","to":"b","to":"b","text":1}',
        b'{"id":"%b","from":"a","to":"b","text":"\\"","text":""}',
        b'{"id":"%b","from":"a","to":"b","to":"\\"b","text":"x"}',
    ],
)
def test_a_doubled_key_is_found_however_it_is_written(raw: bytes) -> None:
    """Blanks and escapes make the same key of other bytes."""
    with pytest.raises(BadMessage):
        parse_msg(raw % ID.encode())


@pytest.mark.parametrize("raw", [b"", b"[]", b"null", b"1", b'"x"', b"{}", b"\xff\xfe"])
def test_what_is_no_message_at_all_is_refused(raw: bytes) -> None:
    """Nothing but an object with the four needed fields is mail."""
    with pytest.raises(BadMessage):
        parse_msg(raw)


def test_depth_at_the_limit_passes() -> None:
    """The control for the depth refusal: brackets in a text count for nothing."""
    assert parse_msg(OPEN + b',"x":' + b"[" * 31 + b"]" * 31 + b"}").text == "hello"
    assert parse_msg(OPEN + b',"x":"' + b"[" * 99 + b'"}').text == "hello"


def test_an_id_that_clients_would_lose_is_refused() -> None:
    """The clients keep only 8-4-4-4-12 hex, and in lower case it is one id."""
    for bad in ("x", "01a229f51be67815a799031d49f0f6c1", str(ID).upper(), f"{ID}\n"):
        with pytest.raises(BadMessage, match="not a UUID"):
            parse_msg(encode(Msg(id=MessageId(bad), from_="a", to="b", text="x")))


def test_text_over_the_limit_is_refused_with_both_numbers() -> None:
    """A limit nobody names cannot be kept."""
    long = Msg(id=ID, from_="a", to="b", text="x" * 1_048_577)
    with pytest.raises(BadMessage, match=r"1048577 characters, .* 1048576"):
        parse_msg(encode(long))
    assert parse_msg(encode(Msg(id=ID, from_="a", to="b", text="x" * 1_048_576)))


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=300))
def test_any_text_of_whole_characters_passes_unchanged(text: str) -> None:
    """Strict is about structure, never about what people write."""
    assert parse_msg(encode(Msg(id=ID, from_="a", to="b", text=text))).text == text


@given(st.binary(max_size=200))
def test_no_bytes_raise_anything_but_bad_message(raw: bytes) -> None:
    """An unexpected exception here would close a door."""
    with contextlib.suppress(BadMessage):
        parse_msg(raw)


def test_minted_ids_are_ids_and_grow() -> None:
    """UUIDv7: time first, so that a listing sorts by age."""
    first, second = ids.new(), ids.new()
    assert ids.is_id(first)
    assert first[14] == "7"
    assert first != second
    assert first[:8] <= second[:8]


def test_derived_ids_depend_on_every_part_and_its_border() -> None:
    """ab+c and a+bc are two keys."""
    assert ids.derived("a", "b") == ids.derived("a", "b")
    assert len({ids.derived("ab", "c"), ids.derived("a", "bc"), ids.derived("a")}) == 3
