"""A peer that says what it must not: closed with a reason, and nothing handed up."""

import base64

import msgspec
import pytest

from homi import __version__
from homi.links import frames
from homi.links.frames import (
    WINDOW,
    Ack,
    Bye,
    Hello,
    Proof,
    Tail,
    mail_line,
    mail_tail,
)
from tests.unit.links.kit import IDENTITIES, KEYS, End, Pair, TurnedLoop

TAIL = mail_tail(Tail(to="ada@mini", hops=("laptop",), msg=msgspec.Raw(b"{}")))
HELLO = Hello(
    v=1,
    least=1,
    device="laptop",
    peer="mini",
    key=KEYS["laptop"],
    nonce="0" * 64,
    now=0,
)


def hello(**changed: object) -> bytes:
    return frames.encode(msgspec.structs.replace(HELLO, **changed))[:-1]


def proof(sig: bytes) -> bytes:
    return frames.encode(Proof(sig=base64.b64encode(sig).decode()))[:-1]


def signed(role: bytes, first: bytes, second: bytes, who: str = "laptop") -> bytes:
    """The proof of who, for the two hellos."""
    data = b"homi-link-1\0" + b"\n".join((role, first, second))
    return proof(IDENTITIES[who].sign(data))


@pytest.fixture
def mini() -> End:
    """An end that was dialled by somebody, and has said hello."""
    end = End(TurnedLoop(), "mini", "laptop", dialled=False)
    end.exchange.start()
    return end


def nothing_came(end: End, reason: str, words: str = "") -> None:
    """It ended, the other end is told why, and no mail was handed up."""
    ((told, text),) = end.port.ends
    assert (told, words in text) == (reason, True), text
    assert end.wire.closed
    last = frames.decode(end.wire.sent[-1])
    assert isinstance(last, Bye)
    assert last.reason == reason
    before = len(end.wire.sent)
    end.feed(mail_line(1, TAIL)[:-1], b'{"f":"ping","t":1}')
    assert (end.port.mail, end.port.hints, len(end.wire.sent)) == ([], [], before)


def test_who_has_the_key_is_let_in(mini: End) -> None:
    """The control of all the others."""
    ours = mini.wire.taken()[0]
    mini.feed(hello(), signed(b"dialler", hello(), ours), mail_line(1, TAIL)[:-1])
    assert [peer.device for peer in mini.port.peers] == ["laptop"]
    assert len(mini.port.mail) == 1
    assert mini.port.ends == []


@pytest.mark.parametrize(
    ("changed", "reason", "words"),
    [
        ({"device": "max"}, "auth", "laptop was expected, max is there"),
        ({"device": "mini"}, "auth", "laptop was expected"),
        ({"device": "../../etc"}, "protocol", "no device"),
        ({"device": ""}, "protocol", "no device"),
        ({"device": "a" * 65}, "protocol", "no device"),
        ({"peer": "max"}, "auth", "wants 'max'"),
        ({"key": KEYS["max"]}, "device-key", "not the pinned one"),
        ({"key": KEYS["mini"]}, "device-key", "not the pinned one"),
        ({"key": "ssh-rsa AAAA"}, "device-key", "not the pinned one"),
        ({"key": ""}, "device-key", "not the pinned one"),
        (
            {"v": 9, "least": 7, "software": "homi 9"},
            "version",
            f"homi 9 on laptop speaks link versions 7 to 9, homi {__version__} on mini"
            " speaks version 1: update homi on mini",
        ),
        ({"nonce": "0" * 8}, "protocol", "nonce"),
        ({"nonce": "0" * 600}, "protocol", "nonce"),
        ({"key": "A" * 2000}, "protocol", "key"),
        ({"v": 0}, "protocol", "v"),
        ({"now": "soon"}, "protocol", "now"),
    ],
    ids=range(16),
)
def test_a_hello_that_is_not_the_paired_devices_own_ends_it(
    mini: End, changed: dict[str, object], reason: str, words: str
) -> None:
    mini.feed(hello(**changed))
    nothing_came(mini, reason, words)


def test_a_device_that_is_not_paired_is_turned_away() -> None:
    end = End(TurnedLoop(), "mini", None, dialled=False)
    end.exchange.start()
    end.feed(hello(device="elsewhere"))
    nothing_came(end, "auth", "not paired")


@pytest.mark.parametrize(
    "line",
    [
        mail_line(1, TAIL)[:-1],
        b'{"f":"ack","after":0,"upto":1}',
        b'{"f":"req","i":1,"verb":"ls"}',
        b'{"f":"names","all":true}',
        b'{"f":"ping","t":1}',
        b'{"f":"later"}',
        b'{"f":"proof","sig":""}',
        b"SSH-2.0-OpenSSH_9.2",
        b"[" * 5000,
        b'{"f":"hello","v":1,' + b" " * 9000 + b"}",
        b"\xff\xfe",
    ],
)
def test_nothing_is_believed_before_the_proof(mini: End, line: bytes) -> None:
    mini.feed(line)
    nothing_came(mini, "protocol")


def test_its_own_signature_thrown_back_proves_nothing(mini: End) -> None:
    """The role is signed too, so an echo is of the wrong end."""
    mini.wire.taken()
    mini.feed(hello())
    mini.feed(*mini.wire.taken())
    nothing_came(mini, "auth", "did not prove")


def test_all_it_says_thrown_back_is_no_other_device(mini: End) -> None:
    mini.feed(*mini.wire.taken())
    nothing_came(mini, "auth")


def test_what_was_said_on_another_connection_proves_nothing_here() -> None:
    """The nonce of this end is new each time."""
    loop = TurnedLoop()
    old, new = (End(loop, "mini", "laptop", dialled=False) for _ in range(2))
    old.exchange.start()
    said = (hello(), signed(b"dialler", hello(), old.wire.taken()[0]))
    old.feed(*said)
    assert old.port.peers
    new.exchange.start()
    new.feed(*said)
    nothing_came(new, "auth", "did not prove")


@pytest.mark.parametrize(
    ("role", "who"), [(b"answerer", "laptop"), (b"dialler", "max"), (b"", "laptop")]
)
def test_a_signature_of_another_role_or_key_proves_nothing(
    mini: End, role: bytes, who: str
) -> None:
    ours = mini.wire.taken()[0]
    mini.feed(hello(), signed(role, hello(), ours, who))
    nothing_came(mini, "auth", "did not prove")


def test_a_second_hello_ends_it(mini: End) -> None:
    mini.feed(hello(), hello())
    nothing_came(mini, "protocol", "twice")


def test_who_never_proves_anything_is_cut_off(mini: End) -> None:
    mini.loop.pass_time(9.9)
    assert mini.port.ends == []
    mini.loop.pass_time(0.2)
    nothing_came(mini, "silent", "no proof")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b'{"f":"ack","after":0,"upto":3}', "2 was sent last"),
        (b'{"f":"ack","after":0,"upto":0}', "upto"),
        (b'{"f":"ack","after":1,"upto":2}', "0 is acked"),
        (b'{"f":"ack","after":0,"upto":1,"not":[{"n":2,"code":"io"}]}', "out of turn"),
        (b'{"f":"ack","after":0,"upto":1,"not":[{"n":0,"code":"io"}]}', "n"),
        (b'{"f":"ack","after":0,"upto":99999999999999999999999999}', ""),
        (mail_line(2, TAIL)[:-1], "mail 2 came after 0"),
        (b'{"f":"mail","n":1,"to":7,"hops":[],"msg":{}}', "to"),
        (b'{"f":"mail","n":true,"to":"a","hops":[],"msg":{}}', "n"),
        (b'{"f":"mail","n":1,"to":"a","hops":"mini","msg":{}}', "hops"),
        (b'{"f":"mail","n":1,"to":"a","hops":[]}', "msg"),
        (b'{"f":"mail","n":1,"to":"a","hops":[],"msg":' + b"[" * 9000, ""),
        (b'{"f":"res","i":1,"ok":{}}', "nothing was asked"),
        (b'{"f":"hello","v":1}', "hello"),
        (hello(), "out of place"),
        (b'{"f":"proof","sig":""}', "out of place"),
        (b'{"f":"ping","t":1,"sent":1}', "lost on the way"),
        (b'{"f":"names","names":[{"name":1}]}', "name"),
        (b'{"f":["mail"]}', ""),
        (b"null", ""),
        (b'{"f":"mail"', ""),
    ],
)
def test_a_proven_peer_that_breaks_a_rule_is_cut_off(line: bytes, words: str) -> None:
    pair = Pair()
    for _ in range(2):
        pair.mini.exchange.mail(TAIL)
    pair.mini.wire.taken()
    pair.mini.feed(line)
    nothing_came(pair.mini, "protocol", words)
    assert pair.mini.port.acks == []


def test_acks_never_go_back_and_never_come_twice() -> None:
    pair = Pair()
    for _ in range(4):
        pair.mini.exchange.mail(TAIL)
    pair.mini.feed(b'{"f":"ack","after":0,"upto":3}')
    assert pair.mini.port.acks == [(3, [])]
    pair.mini.feed(b'{"f":"ack","after":0,"upto":3}')
    assert pair.mini.port.acks == [(3, [])]
    assert pair.mini.port.ends[0][0] == "protocol"


def test_a_peer_that_does_not_wait_for_acks_is_cut_off() -> None:
    """What is under way is bounded by this end, whatever the other does."""
    pair = Pair()
    mini = pair.mini
    mini.port.at_once = False
    lines = [mail_line(n, TAIL)[:-1] for n in range(1, WINDOW + 2)]
    mini.feed(*lines[:-1])
    assert (len(mini.port.mail), mini.port.ends) == (WINDOW, [])
    mini.feed(lines[-1])
    assert (len(mini.port.mail), mini.port.ends[0][0]) == (WINDOW, "protocol")


def test_large_mail_is_bounded_by_its_bytes() -> None:
    pair = Pair()
    mini = pair.mini
    mini.port.at_once = False
    body = b'{"text":"%b"}' % (b"x" * 600_000)
    tail = mail_tail(Tail(to="ada@mini", hops=("laptop",), msg=msgspec.Raw(body)))
    mini.feed(mail_line(1, tail)[:-1], mail_line(2, tail)[:-1])
    assert (len(mini.port.mail), mini.port.ends) == (2, [])
    mini.feed(mail_line(3, TAIL)[:-1])
    assert (len(mini.port.mail), mini.port.ends[0][0]) == (2, "protocol")


@pytest.mark.parametrize(
    "line",
    [b'{"f":"ping","t":1}', b'{"f":"names"}', b'{"f":"later"}', b'{"f":"pong","t":7}'],
)
def test_a_peer_that_talks_without_end_is_cut_off(line: bytes) -> None:
    pair = Pair()
    for _ in range(10_000):
        pair.mini.exchange.line(line)
    assert pair.mini.port.ends == []
    pair.mini.exchange.line(line)
    assert pair.mini.port.ends[0][0] == "busy"


def test_as_much_talk_over_a_longer_time_is_fine() -> None:
    pair = Pair()
    for _ in range(3):
        for _ in range(9_000):
            pair.mini.exchange.line(b'{"f":"ping","t":1}')
        pair.loop.pass_time(15.0)
    assert pair.mini.port.ends == []


def test_questions_without_an_answer_are_bounded() -> None:
    pair = Pair()
    for i in range(1, 65):
        pair.mini.exchange.line(b'{"f":"req","i":%d,"verb":"ls"}' % i)
    assert (len(pair.mini.port.questions), pair.mini.port.ends) == (64, [])
    pair.mini.exchange.line(b'{"f":"req","i":65,"verb":"ls"}')
    assert len(pair.mini.port.questions) == 64
    assert pair.mini.port.ends[0][0] == "protocol"


def test_a_line_beyond_the_bound_of_the_framing_ends_it() -> None:
    pair = Pair()
    pair.mini.exchange.overlong(33 << 20)
    assert pair.mini.port.ends[0][0] == "busy"


def test_a_bye_of_no_known_reason_is_a_plain_end_with_its_words_cut() -> None:
    pair = Pair()
    pair.mini.feed(frames.encode(Bye(reason="you win", text="x" * 5000))[:-1])
    assert pair.mini.port.ends == [("closed", "it says: " + "x" * 200)]


def test_what_a_newer_peer_adds_is_passed_over() -> None:
    pair = Pair()
    mail = mail_line(1, TAIL).replace(b'"to"', b'"priority":[1,{}],"to"')[:-1]
    pair.mini.feed(b'{"f":"later","n":[1]}', mail)
    assert (len(pair.mini.port.mail), pair.mini.port.ends) == (1, [])
    ack = frames.decode(pair.mini.wire.sent[-1])
    assert isinstance(ack, Ack)
    assert ack.upto == 1
