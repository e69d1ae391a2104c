"""Frames as bytes: read whole, refused in words of ours, msg never touched."""

import json
import random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from homi.links import frames
from homi.links.frames import Mail, Tail, Unknown, mail_line, mail_tail
from homi.links.window import Inbound, Outbound
from homi.turns import Counted

TEXT = st.text(st.characters(exclude_categories=("Cs",)))


@given(
    n=st.integers(1, 1 << 40),
    to=TEXT,
    hops=st.lists(TEXT, max_size=8),
    text=TEXT,
    flags=st.sets(st.sampled_from(["verified", "first", "again"])),
    turn=st.none() | st.builds(Counted, TEXT, st.integers(1, 99), st.integers(1, 99)),
)
def test_a_mail_line_is_one_line_and_carries_msg_as_it_is(
    n: int, to: str, hops: list[str], text: str, flags: set[str], turn: Counted | None
) -> None:
    msg = json.dumps({"text": text, "a": 1}, ensure_ascii=True).encode()
    marks = dict.fromkeys(flags, True)
    sent = Tail(to=to, hops=hops, at="now", turn=turn, msg=msgspec.Raw(msg), **marks)
    tail = mail_tail(sent)
    line = mail_line(n, tail)
    assert line.endswith(b"}\n")
    assert b"\n" not in line[:-1]
    mail = frames.decode(line[:-1])
    assert isinstance(mail, Mail)
    assert bytes(mail.msg) == msg
    assert (mail.n, mail.to, mail.hops) == (n, to, tuple(hops))
    assert mail.at == "now"
    set_ = {one for one in ("verified", "first", "again") if getattr(mail, one)}
    assert set_ == flags
    assert mail.turn == turn


def test_a_mail_frame_holds_nothing_that_is_not_so() -> None:
    """The control: what is so stands in it, msg last with the spaces of its sender."""
    msg, to, hops = msgspec.Raw(b'{"id": "x"}'), "ada@mini", ["laptop"]
    plain = mail_line(7, mail_tail(Tail(to=to, hops=hops, msg=msg)))
    begun = b'{"f":"mail","n":7,"to":"ada@mini","hops":["laptop"]'
    assert plain == begun + b',"msg":{"id": "x"}}\n'
    moved = mail_tail(Tail(to=to, hops=hops, verified=True, moved=3, msg=msg))
    assert mail_line(7, moved) == (
        begun + b',"verified":true,"moved":3,"msg":{"id": "x"}}\n'
    )


def test_a_room_is_named_with_its_device() -> None:
    """It is kept without where the room is; the control: mail that is no copy."""
    assert frames.whole_room("crew", ["mini", "laptop"]) == "crew@laptop"
    assert frames.whole_room("crew@desk", ["mini", "laptop"]) == "crew@desk"
    assert frames.whole_room(None, ["laptop"]) is None


@given(st.binary(max_size=200))
def test_any_bytes_are_a_frame_or_refused(data: bytes) -> None:
    told = ""
    try:
        frames.decode(data)
    except ValueError as error:
        told = str(error)
    assert "\n" not in told


@given(st.recursive(st.none() | st.booleans() | st.integers() | TEXT, st.lists))
def test_any_value_in_any_field_is_read_or_refused(value: object) -> None:
    for kind in frames.FRAMES:
        tag = str(kind.__struct_config__.tag)
        for field in kind.__struct_encode_fields__:
            line = json.dumps({"f": tag, field: value}).encode()
            try:
                assert not isinstance(frames.decode(line), Unknown)
            except ValueError:
                continue


@pytest.mark.parametrize("depth", [10, 1000, 200_000])
def test_depth_is_no_way_to_end_the_process(depth: int) -> None:
    deep = b"[" * depth + b"]" * depth
    for line in (deep, b'{"f":"ping","x":%b}' % deep, b'{"f":%b}' % deep):
        try:
            frames.decode(line)
        except ValueError:
            continue


@given(st.integers(0, 1 << 32))
def test_acks_follow_each_other_whatever_the_order_of_settling(seed: int) -> None:
    """Sender and receiver count alike, in any interleaving."""
    draw = random.Random(seed)
    out, came = Outbound(), Inbound()
    count = draw.randint(1, 400)
    waiting: list[int] = []
    refused: set[int] = set()
    told: set[int] = set()
    while out.upto < count:
        if out.room and out.sent < count and draw.random() < 0.6:
            length = draw.choice((100, 1 << 18))
            out.count(length)
            came.came(out.sent, length)
            waiting.append(out.sent)
        elif waiting:
            n = waiting.pop(draw.randint(0, min(3, len(waiting) - 1)))
            refusal = None
            if draw.random() < 0.1:
                refusal = frames.Refusal(code="io")
                refused.add(n)
            if came.settle(n, refusal):
                ack = came.ack()
                out.acked(ack)
                told |= {each.n for each in ack.not_}
    assert told == refused
    assert out.room
