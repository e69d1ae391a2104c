"""What two ends of a link make of each other's lines."""

from typing import cast

import msgspec
import pytest

from homi.links import frames
from homi.links.exchange import Exchange
from homi.links.frames import WINDOW, Ack, Refusal, Res, Tail, mail_tail
from homi.links.greeting import Peer
from homi.links.pulse import UNREAD_MAX
from tests.unit.links.kit import End, Noted, Pair, Turned


def letter(body: bytes) -> bytes:
    """The rest of a mail frame."""
    msg = msgspec.Raw(body)
    return mail_tail(Tail(to="ada@mini", hops=("laptop",), verified=True, msg=msg))


MAIL = letter(b'{"id":"x", "y" : 1}')


def test_two_paired_devices_meet_and_know_each_other() -> None:
    pair = Pair()
    assert pair.laptop.port.peers[0].device == "mini"
    assert pair.mini.port.peers[0].device == "laptop"
    assert pair.mini.port.peers[0].fingerprint.startswith("SHA256:")
    assert abs(pair.mini.port.peers[0].offset) < 1


def test_mail_crosses_byte_for_byte_and_is_acked_when_it_is_stored() -> None:
    pair = Pair()
    pair.mini.port.at_once = False
    assert pair.laptop.exchange.mail(MAIL) == 1
    pair.carry()
    (mail,) = pair.mini.port.mail
    assert bytes(mail.msg) == b'{"id":"x", "y" : 1}'
    assert (mail.to, mail.hops, mail.verified) == ("ada@mini", ("laptop",), True)
    assert pair.laptop.port.acks == []
    pair.mini.port.answers[0](None)
    pair.carry()
    assert pair.laptop.port.acks == [(1, [])]


def test_what_is_settled_in_one_turn_leaves_as_one_ack() -> None:
    pair = Pair()
    for _ in range(100):
        pair.laptop.exchange.mail(MAIL)
    pair.mini.feed(*pair.laptop.wire.taken())
    acks = [frames.decode(line) for line in pair.mini.wire.sent]
    assert acks == [Ack(after=0, upto=100)]


def test_an_ack_waits_for_what_came_before_and_names_what_was_refused() -> None:
    pair = Pair()
    pair.mini.port.at_once = False
    for _ in range(3):
        pair.laptop.exchange.mail(MAIL)
    pair.carry()
    first, second, third = pair.mini.port.answers
    third(None)
    second(Refusal(code="not-reached", text="full", reason="quota"))
    pair.carry()
    assert pair.laptop.port.acks == []
    first(None)
    pair.carry()
    ((upto, refused),) = pair.laptop.port.acks
    assert upto == 3
    assert [(each.n, each.reason, each.permanent) for each in refused] == [
        (2, "quota", False)
    ]


def test_there_is_room_for_a_window_and_again_after_its_ack() -> None:
    pair = Pair()
    for _ in range(WINDOW):
        assert pair.laptop.exchange.room
        pair.laptop.exchange.mail(MAIL)
    assert not pair.laptop.exchange.room
    pair.carry()
    assert pair.laptop.exchange.room


def test_one_longer_than_the_window_goes_alone() -> None:
    pair = Pair()
    body = b'{"text":"%b"}' % (b"x" * (2 << 20))
    tail = letter(body)
    assert pair.laptop.exchange.room
    pair.laptop.exchange.mail(tail)
    assert not pair.laptop.exchange.room
    pair.carry()
    assert len(pair.mini.port.mail) == 1
    assert pair.laptop.exchange.room


def test_a_mail_that_is_lost_on_the_way_is_missed_though_none_follows() -> None:
    pair = Pair()
    pair.laptop.exchange.mail(MAIL)
    pair.laptop.wire.taken()
    pair.loop.pass_time(15.0)
    pair.carry()
    assert pair.mini.port.ends[0][0] == "protocol"
    assert pair.laptop.port.ends[0][0] == "protocol"


def test_an_ack_that_is_lost_on_the_way_is_missed_though_none_follows() -> None:
    pair = Pair()
    pair.laptop.exchange.mail(MAIL)
    pair.mini.feed(*pair.laptop.wire.taken())
    pair.mini.wire.taken()
    pair.loop.pass_time(15.0)
    pair.carry()
    assert pair.laptop.port.ends[0][0] == "protocol"
    assert pair.laptop.port.acks == []


def test_an_idle_pair_stays_together() -> None:
    pair = Pair()
    for _ in range(100):
        pair.loop.pass_time(15.0)
        pair.carry()
    assert (pair.laptop.port.ends, pair.mini.port.ends) == ([], [])


def test_who_hears_nothing_asks_three_times_and_ends_it() -> None:
    pair = Pair()
    pair.loop.pass_time(59.0)
    pings = [frames.decode(line) for line in pair.laptop.wire.sent]
    assert (len(pings), pair.laptop.port.ends) == (3, [])
    pair.loop.pass_time(2.0)
    assert pair.laptop.port.ends[0][0] == "silent"


def test_a_process_that_was_stopped_asks_before_it_judges() -> None:
    """Hours went by, none of which this end was awake in."""
    pair = Pair()
    pair.loop.now += 30_000.0
    pair.loop.pass_time(0.0)
    pair.carry()
    pair.loop.pass_time(15.0)
    pair.carry()
    assert (pair.laptop.port.ends, pair.mini.port.ends) == ([], [])


def test_a_probe_ends_a_dead_connection_soon_and_spares_a_live_one() -> None:
    pair = Pair()
    pair.laptop.exchange.probe(5.0)
    pair.carry()
    pair.loop.pass_time(6.0)
    assert pair.laptop.port.ends == []
    pair.laptop.exchange.probe(5.0)
    pair.loop.pass_time(6.0)
    assert pair.laptop.port.ends[0][0] == "silent"


def test_a_burst_of_probes_puts_no_judgement_off() -> None:
    """A network that changes all day would keep a dead connection for as long."""
    pair = Pair()
    for _ in range(3):
        pair.laptop.exchange.probe(5.0)
        pair.loop.pass_time(2.0)
    assert pair.laptop.port.ends[0][0] == "silent"


def test_a_probe_judges_no_later_than_the_pings_would() -> None:
    pair = Pair()
    pair.laptop.exchange.probe(100.0)
    pair.loop.pass_time(46.0)
    assert pair.laptop.port.ends[0][0] == "silent"


def test_who_reads_what_it_asks_for_may_ask_for_any_amount() -> None:
    """The control of the next."""
    pair = Pair()
    answers: list[Res | None] = []
    for i in range(1, 100):
        pair.mini.exchange.ask("ls", {}, answers.append)
        pair.carry()
        pair.laptop.exchange.reply(i, Long())
        pair.carry()
    assert sum(len(bytes(each.ok)) for each in answers if each) > UNREAD_MAX
    assert (pair.laptop.port.ends, pair.mini.port.ends) == ([], [])


def test_who_asks_and_never_reads_is_cut_off() -> None:
    """Whatever signs of life it gives: the answers are kept here."""
    pair = Pair()
    kept = 0
    for i in range(1, 1000):
        pair.laptop.feed(b'{"f":"req","i":%d,"verb":"ls"}' % i, b'{"f":"pong","t":1}')
        pair.laptop.exchange.reply(i, Long())
        kept = sum(map(len, pair.laptop.wire.sent))
        if pair.laptop.port.ends:
            break
    assert pair.laptop.port.ends[0][0] == "busy"
    assert kept < 2 * UNREAD_MAX


class Long(msgspec.Struct):
    """An answer of a quarter of a megabyte."""

    text: str = "x" * 250_000


@pytest.mark.parametrize("now", [0.0, 1_800_000_000.0 + 2 * 86_400])
def test_a_clock_that_is_wrong_is_shown_and_costs_nothing(now: float) -> None:
    """The far side woke up in 1970, or two days ahead."""
    pair = Pair(meet=False)
    cast(Turned, pair.mini.exchange.here.clock).now = now
    for end in pair.ends:
        end.exchange.start()
    pair.carry()
    assert pair.laptop.port.peers[0].offset == now - 1_800_000_000.0
    assert pair.mini.port.peers[0].offset == 1_800_000_000.0 - now
    for end in pair.ends:
        end.exchange.mail(MAIL)
    pair.loop.pass_time(40.0)
    pair.carry()
    for end in pair.ends:
        assert (end.port.acks, end.port.ends) == ([(1, [])], [])


def test_a_round_trip_is_measured_or_told_to_be_over() -> None:
    pair = Pair()
    measured: list[float | None] = []
    pair.laptop.exchange.ping(measured.append)
    pair.loop.now += 0.3
    pair.carry()
    pair.laptop.exchange.ping(measured.append)
    pair.laptop.exchange.close("paused")
    pair.laptop.exchange.ping(measured.append)
    assert [took and round(took, 1) for took in measured] == [0.3, None, None]


def test_both_ends_learn_why_it_ended_and_only_once() -> None:
    pair = Pair()
    pair.laptop.exchange.close("paused", "by a person")
    pair.laptop.exchange.close("closed")
    pair.carry()
    pair.laptop.exchange.lost()
    pair.mini.exchange.lost()
    assert pair.laptop.port.ends == [("paused", "by a person")]
    assert pair.mini.port.ends == [("paused", "it says: by a person")]
    assert not pair.laptop.exchange.room


def test_a_connection_that_goes_away_is_told_once() -> None:
    pair = Pair()
    pair.mini.exchange.lost()
    pair.mini.exchange.lost()
    assert [reason for reason, _ in pair.mini.port.ends] == ["closed"]


def test_who_stands_above_may_refuse_the_other_end_when_it_is_met() -> None:
    """Nothing is handed up behind that."""

    class Refusing(Noted):
        def met(self, exchange: Exchange, _peer: Peer) -> None:
            exchange.close("superseded")

    pair = Pair(meet=False)
    mini = End(pair.loop, "mini", "laptop", dialled=False, port=Refusing)
    pair.mini, pair.ends = mini, (pair.laptop, mini)
    for end in pair.ends:
        end.exchange.start()
    pair.carry()
    assert pair.laptop.port.ends == [("superseded", "")]
    assert not mini.exchange.room


def test_a_hello_that_is_there_before_this_end_has_begun_is_answered() -> None:
    pair = Pair(meet=False)
    pair.laptop.exchange.start()
    pair.carry()
    pair.mini.exchange.start()
    pair.carry()
    assert pair.laptop.port.peers
    assert pair.mini.port.peers
