"""What waits for other devices leaves in order, ends by acks and holds nobody up."""

import asyncio
from collections.abc import Awaitable, Callable

import msgspec
import pytest

from homi import ids
from homi.address import Device, Name
from homi.clock import rfc3339
from homi.envelope import (
    LedgerLine,
    MessageId,
    Msg,
    Reason,
    Rung,
    Via,
    decode_msg,
    encode,
)
from homi.links import feed as feed_module
from homi.links.feed import Books, Feed
from homi.links.frames import WINDOW, Mail, Not, decode
from homi.store.base import Mail as StoreMail
from homi.store.mailbox import Item
from homi.store.memory import MemoryStore
from homi.store.places import queue_of
from homi.turns import Counted
from tests.unit.links.kit import Pair

MINI, MAX = queue_of(Device("mini")), queue_of(Device("max"))
FULL = Not(n=1, code="not-reached", text="full", reason="quota")
BAD = Not(n=1, code="no-such-name", text="no name ada", permanent=True)


class Laptop:
    """A device with mail for mini and max, and a connection to mini."""

    def __init__(self) -> None:
        self.pair = Pair()
        self.store = MemoryStore()
        self.reads = 0
        self.bounced: list[tuple[Name, Item, Reason | None, str]] = []
        self.numbers: dict[str, int] = {}  # of what was sent, by its text
        self.frames: list[Mail] = []
        self.turns: dict[str, Counted] = {}
        books = Books(
            self.store.mailbox,
            self.store.record,
            self._bounce,
            lambda: 0.0,
            lambda message: self.turns.get(message),
        )
        self.feed = Feed(self.pair.laptop.exchange, books)

    def _bounce(
        self,
        place: Name,
        item: Item,
        reason: Reason | None,
        text: str,
        by: str,
        done: Callable[[bool], None] | None,
    ) -> None:
        self.bounced.append((place, item, reason, text))
        line = LedgerLine(
            seq=item.seq, id=item.id, rung=Rung.BOUNCED, at=rfc3339(0), by=by
        )
        self.store.record(place, line, done)

    async def put(self, text: str, sender: str = "ada", place: Name = MINI) -> Item:
        """One more in an out queue; nobody is told."""
        to = f"bob{place}"
        head = Msg(id=MessageId(ids.new()), from_=sender, to=to, text=text)
        via = Via(door="control", uid=0)
        body = encode(head)
        tail = b'"at":"%b","to":"%b","via":%b,"hops":["laptop"],"msg":%b}\n' % (
            rfc3339(1).encode(),
            to.encode(),
            encode(via),
            body,
        )
        got: asyncio.Future[StoreMail] = asyncio.get_running_loop().create_future()
        mail = StoreMail(place, "uid:0", head, via, body, tail, got.set_result)
        mail.to = to
        self.store.submit(mail)
        item = (await got).item
        assert item is not None
        return item

    def sent(self) -> list[str]:
        """The texts that left since, in order; first ones are marked."""
        texts = []
        for line in self.pair.laptop.wire.taken():
            frame = decode(line)
            if isinstance(frame, Mail):
                text = decode_msg(bytes(frame.msg)).text
                self.frames.append(frame)
                self.numbers[text] = frame.n
                texts.append(f"{text}!" if frame.first else text)
        return texts

    async def ack(self, upto: int, *refused: Not) -> None:
        """The other end settles them."""
        self.feed.acked(upto, list(refused))
        self.pair.loop.turn()
        await settle()

    def rungs(self, place: Name = MINI) -> list[Rung]:
        """What the ledger tells, in order."""
        return [line.rung for line in self.store.ledgers[place]]

    def left(self, place: Name = MINI) -> int:
        """How many are pending."""
        return len(self.store.mailbox(place).pending)


async def settle() -> None:
    """Let the store commit what was given to it."""
    for _ in range(3):
        await asyncio.sleep(0)


def story(scenario: Callable[[Laptop], Awaitable[None]]) -> None:
    """Run it over a fresh device."""

    async def main() -> None:
        await scenario(Laptop())

    asyncio.run(main())


def refused(kind: Not, n: int) -> Not:
    """The refusal, of the mail n."""
    return msgspec.structs.replace(kind, n=n)


def test_what_waits_leaves_in_order_and_ends_with_its_ack() -> None:
    async def scenario(laptop: Laptop) -> None:
        for n in range(5):
            await laptop.put(f"m{n}")
        laptop.feed.route([MINI])
        assert laptop.sent() == ["m0", "m1", "m2", "m3", "m4"]
        first = laptop.frames[0]
        assert (first.to, first.hops) == ("bob@mini", ("laptop",))
        assert laptop.left() == 5
        await laptop.ack(3)
        assert (laptop.left(), laptop.rungs()) == (2, [Rung.RELAYED] * 3)
        await laptop.ack(5)
        assert laptop.left() == 0

    story(scenario)


@pytest.mark.parametrize("end", ["turn", "refused", "stop"])
def test_more_leaves_before_what_was_acked_is_recorded(end: str) -> None:
    """The other end has work meanwhile; it is recorded with the next turn, and at once
    where a lane must wait or the connection ends."""

    async def scenario(laptop: Laptop) -> None:
        for n in range(WINDOW + 2):
            await laptop.put(f"m{n}")
        laptop.feed.route([MINI])
        assert len(laptop.sent()) == WINDOW
        laptop.pair.laptop.exchange.line(b'{"f":"ack","after":0,"upto":1}')
        laptop.feed.acked(1, [])
        assert laptop.sent() == [f"m{WINDOW}"]
        await settle()
        assert laptop.left() == WINDOW + 2
        if end == "turn":
            laptop.pair.loop.turn()
        elif end == "refused":
            laptop.feed.acked(2, [refused(FULL, 2)])
        else:
            laptop.feed.stop()
        await settle()
        assert laptop.rungs() == [Rung.RELAYED, Rung.DEFERRED][: 1 + (end == "refused")]
        assert laptop.left() == WINDOW + 1

    story(scenario)


def test_what_was_acked_is_recorded_at_once_where_nothing_waits() -> None:
    """A lone message has no turn of the loop to lose."""

    async def scenario(laptop: Laptop) -> None:
        await laptop.put("lone")
        laptop.feed.route([MINI])
        laptop.feed.acked(1, [])
        await settle()
        assert laptop.rungs() == [Rung.RELAYED]

    story(scenario)


def test_a_message_that_counts_tells_as_which_turn() -> None:
    """And one that does not tells nothing."""

    async def scenario(laptop: Laptop) -> None:
        counts = await laptop.put("counts")
        turn = laptop.turns[counts.id] = Counted(MessageId(ids.new()), 3, 12)
        await laptop.put("does not")
        laptop.feed.route([MINI])
        assert laptop.sent() == ["counts", "does not"]
        assert [frame.turn for frame in laptop.frames] == [turn, None]

    story(scenario)


def test_what_a_person_released_beside_its_lane_leaves_at_once() -> None:
    """What is parked by a bound keeps nothing behind it waiting, and is not waited
    for: the word of its release finds it."""

    async def scenario(laptop: Laptop) -> None:
        item = await laptop.put("parked")
        item.rung, item.reason = Rung.PARKED, Reason.BUDGET
        await laptop.put("later")
        laptop.feed.route([MINI])
        assert laptop.sent() == ["later"]
        laptop.feed.flush(MINI)
        assert laptop.sent() == []
        item.rung = Rung.STORED
        laptop.feed.flush(MINI)
        assert laptop.sent() == ["parked"]

    story(scenario)


def test_new_mail_leaves_at_once() -> None:
    async def scenario(laptop: Laptop) -> None:
        laptop.feed.route([MINI])
        laptop.feed.hint(MINI, await laptop.put("new"))
        laptop.feed.hint(MAX, await laptop.put("elsewhere", place=MAX))
        assert laptop.sent() == ["new"]

    story(scenario)


def test_nothing_is_read_before_there_is_room_for_it() -> None:
    async def scenario(laptop: Laptop) -> None:
        for n in range(2 * WINDOW):
            await laptop.put(f"m{n}")
        laptop.feed.route([MINI])
        assert len(laptop.sent()) == WINDOW
        await laptop.ack(10)
        assert laptop.sent() == []  # the exchange itself has seen no ack
        laptop.pair.laptop.feed(b'{"f":"ack","after":0,"upto":20}')
        await laptop.ack(20)
        assert len(laptop.sent()) == 20

    story(scenario)


def test_a_word_that_was_lost_lets_nothing_be_overtaken() -> None:
    async def scenario(laptop: Laptop) -> None:
        laptop.feed.route([MINI])
        await laptop.put("unheard")
        laptop.feed.hint(MINI, await laptop.put("heard"))
        assert laptop.sent() == ["unheard", "heard"]

    story(scenario)


def test_a_word_that_was_lost_costs_a_minute() -> None:
    async def scenario(laptop: Laptop) -> None:
        laptop.feed.route([MINI])
        await laptop.put("unheard")
        tick(laptop, 59.0)
        assert laptop.sent() == []
        tick(laptop, 2.0)
        assert laptop.sent() == ["unheard"]

    story(scenario)


def test_a_refusal_for_now_holds_its_lane_and_no_other() -> None:
    async def scenario(laptop: Laptop) -> None:
        for text, sender in (("a0", "ada"), ("a1", "ada"), ("b0", "bob")):
            await laptop.put(text, sender)
        laptop.feed.route([MINI])
        assert laptop.sent() == ["a0", "a1", "b0"]
        await laptop.ack(3, refused(FULL, 1), refused(FULL, 2))
        assert laptop.rungs() == [Rung.DEFERRED, Rung.RELAYED]
        deferred = laptop.store.ledgers[MINI][0]
        assert (deferred.reason, bool(deferred.until)) == (Reason.QUOTA, True)
        laptop.feed.hint(MINI, await laptop.put("a2"))
        laptop.feed.hint(MINI, await laptop.put("b1", "bob"))
        assert laptop.sent() == ["b1"]
        tick(laptop, 2.0)
        assert laptop.sent() == ["a0!"]
        await laptop.ack(5)
        assert laptop.sent() == ["a1", "a2"]

    story(scenario)


def tick(laptop: Laptop, seconds: float) -> None:
    """Time goes by, on the wall and in the loop; the other end is there."""
    clock = laptop.pair.laptop.exchange.here.clock
    while seconds > 0:
        step = min(5.0, seconds)
        seconds -= step
        clock.now += step  # type: ignore[attr-defined]
        laptop.pair.loop.pass_time(step)
        laptop.pair.laptop.feed(b'{"f":"alive"}')


def test_a_lane_that_is_refused_again_waits_longer_each_time() -> None:
    async def scenario(laptop: Laptop) -> None:
        await laptop.put("a0")
        laptop.feed.route([MINI])
        n, waits = 1, []
        for _ in range(12):
            assert laptop.sent() in (["a0"], ["a0!"])
            await laptop.ack(n, refused(FULL, n))
            n += 1
            waited = 0.0
            while not mails(laptop) and waited < 400:
                tick(laptop, 0.5)
                waited += 0.5
            waits.append(waited)
        assert waits[:4] == [1.0, 2.0, 4.0, 8.0]
        assert max(waits) == 150.0  # half of the longest: the draw is 0

    story(scenario)


def mails(laptop: Laptop) -> int:
    """How many are on the wire."""
    return sum(b'"mail"' in line for line in laptop.pair.laptop.wire.sent)


def test_a_person_lets_a_waiting_lane_go_at_once() -> None:
    async def scenario(laptop: Laptop) -> None:
        await laptop.put("a0")
        laptop.feed.route([MINI])
        laptop.sent()
        await laptop.ack(1, refused(FULL, 1))
        assert laptop.sent() == []
        laptop.feed.flush(MINI)
        assert laptop.sent() == ["a0!"]

    story(scenario)


def test_what_a_person_holds_holds_its_lane_until_it_is_let_go() -> None:
    async def scenario(laptop: Laptop) -> None:
        item = await laptop.put("a0")
        await laptop.put("a1")
        await laptop.put("b0", "bob")
        await mark(laptop, item, Rung.PARKED)
        laptop.feed.route([MINI])
        assert laptop.sent() == ["b0"]
        await mark(laptop, item, Rung.STORED)
        laptop.feed.hint(MINI, item)
        assert laptop.sent() == ["a0!"]
        await laptop.ack(2)
        assert laptop.sent() == ["a1"]

    story(scenario)


async def mark(laptop: Laptop, item: Item, rung: Rung) -> None:
    """A line of its ledger."""
    line = LedgerLine(seq=item.seq, id=item.id, rung=rung, at=rfc3339(0))
    laptop.store.record(MINI, line)
    await settle()


def test_a_refusal_for_good_ends_it_and_its_lane_goes_on() -> None:
    async def scenario(laptop: Laptop) -> None:
        for text in ("a0", "a1"):
            await laptop.put(text)
        laptop.feed.route([MINI])
        laptop.sent()
        await laptop.ack(2, refused(BAD, 1))
        ((place, item, reason, text),) = laptop.bounced
        assert (place, item.seq, reason, text) == (MINI, 1, None, "no name ada")
        assert laptop.left() == 0

    story(scenario)


def test_words_of_the_other_end_are_harmless_in_a_bounce() -> None:
    async def scenario(laptop: Laptop) -> None:
        await laptop.put("a0")
        laptop.feed.route([MINI])
        bad = Not(n=1, code="usage", text="\x1b[2J\nx" + "y" * 5000, permanent=True)
        await laptop.ack(1, bad)
        text = laptop.bounced[0][3]
        assert text.startswith("\\x1b[2J\\nx")
        assert len(text) <= 1000

    story(scenario)


def test_one_that_cannot_be_read_holds_nobody_up_and_is_not_lost() -> None:
    async def scenario(laptop: Laptop) -> None:
        await laptop.put("a0")
        damaged = await laptop.put("a1")
        await laptop.put("a2")
        inbox = laptop.store.inboxes[MINI]
        kept = bytes(inbox)
        inbox[damaged.offset] = 0
        laptop.feed.route([MINI])
        assert laptop.sent() == ["a0", "a2"]
        assert laptop.left() == 3
        inbox[:] = kept
        tick(laptop, 61.0)
        assert laptop.sent() == ["a1"]

    story(scenario)


def test_one_too_long_for_a_link_is_bounced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_module, "LINE_MAX_ALONE", 1000)

    async def scenario(laptop: Laptop) -> None:
        await laptop.put("x" * 1000)
        await laptop.put("short")
        laptop.feed.route([MINI])
        assert laptop.sent() == ["short"]
        assert laptop.bounced[0][2] is Reason.TOO_LARGE

    story(scenario)


def test_an_end_that_could_not_be_recorded_is_sent_again() -> None:
    async def scenario(laptop: Laptop) -> None:
        await laptop.put("a0")
        laptop.feed.route([MINI])
        laptop.sent()
        laptop.store.fail_next = 1
        await laptop.ack(1)
        assert laptop.left() == 1
        tick(laptop, 61.0)
        assert laptop.sent() == ["a0"]
        await laptop.ack(2)
        assert laptop.left() == 0

    story(scenario)


def test_queues_over_one_link_take_turns() -> None:
    async def scenario(laptop: Laptop) -> None:
        for n in range(3):
            await laptop.put(f"m{n}")
        await laptop.put("x0", place=MAX)
        laptop.feed.route([MINI, MAX])
        assert laptop.sent() == ["m0", "x0", "m1", "m2"]
        laptop.feed.route([MINI])
        laptop.feed.hint(MAX, await laptop.put("x1", place=MAX))
        assert laptop.sent() == []

    story(scenario)


def test_after_the_end_nothing_is_sent_and_all_stays_pending() -> None:
    async def scenario(laptop: Laptop) -> None:
        item = await laptop.put("a0")
        laptop.feed.route([MINI])
        laptop.feed.stop()
        assert laptop.sent() == ["a0"]
        laptop.feed.hint(MINI, item)
        tick(laptop, 120.0)
        assert (laptop.sent(), laptop.left()) == ([], 1)

    story(scenario)


def test_a_wait_that_the_ledger_tells_of_is_kept_by_the_next_connection() -> None:
    async def scenario(laptop: Laptop) -> None:
        item = await laptop.put("a0")
        await laptop.put("a1")
        now = laptop.pair.laptop.exchange.here.clock.wall()
        line = LedgerLine(
            seq=item.seq,
            id=item.id,
            rung=Rung.DEFERRED,
            at=rfc3339(now),
            until=rfc3339(now + 10),
        )
        laptop.store.record(MINI, line)
        await settle()
        laptop.feed.route([MINI])
        assert laptop.sent() == []
        tick(laptop, 11.0)
        assert laptop.sent() == ["a0!"]

    story(scenario)


def test_a_queue_that_is_held_sends_nothing_before_its_release() -> None:
    async def scenario(laptop: Laptop) -> None:
        await laptop.put("old")
        laptop.feed.hold([MINI])
        laptop.feed.route([MINI])
        laptop.feed.hint(MINI, await laptop.put("new"))
        laptop.feed.flush(MINI)
        assert laptop.sent() == []
        laptop.feed.release(MINI)
        laptop.feed.release(MINI)
        assert laptop.sent() == ["old", "new"]

    story(scenario)


def test_what_was_lost_over_there_goes_again_before_what_is_newer() -> None:
    """Marked as such, and it ends as it did before."""

    async def scenario(laptop: Laptop) -> None:
        lost = [await laptop.put(f"lost{n}") for n in range(3)]
        laptop.feed.route([MINI])
        laptop.sent()
        await laptop.ack(3)
        assert laptop.left() == 0
        found: list[int] = []
        laptop.feed.hold([MINI])
        laptop.feed.hint(MINI, await laptop.put("new"))
        laptop.feed.again(MINI, lost[1:], lambda: found.append(1))
        laptop.feed.release(MINI)
        assert laptop.sent() == ["lost1", "lost2", "new"]
        assert [frame.again for frame in laptop.frames[3:]] == [True, True, False]
        await laptop.ack(5)
        assert found == [1]
        await laptop.ack(6)
        assert (laptop.left(), laptop.rungs()) == (0, [Rung.RELAYED] * 6)
        laptop.feed.flush(MINI)
        assert laptop.sent() == []

    story(scenario)


def test_what_was_lost_waits_with_its_lane_where_it_is_refused() -> None:
    """Newer mail of the lane stays behind it."""

    async def scenario(laptop: Laptop) -> None:
        lost = await laptop.put("lost")
        laptop.feed.route([MINI])
        laptop.sent()
        await laptop.ack(1)
        laptop.feed.hold([MINI])
        laptop.feed.hint(MINI, await laptop.put("new"))
        laptop.feed.again(MINI, [lost], lambda: None)
        laptop.feed.release(MINI)
        assert laptop.sent() == ["lost", "new"]
        await laptop.ack(3, refused(FULL, 2), refused(FULL, 3))
        laptop.feed.flush(MINI)
        assert laptop.sent() == ["lost!"]
        await laptop.ack(4)
        assert laptop.sent() == ["new"]

    story(scenario)
