"""How far a message got over there: told, believed, and asked for."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable

import pytest

from homi.address import Device, Name
from homi.envelope import LedgerLine, MessageId, Msg, Reason, Rung, Via, encode
from homi.far import FarRung
from homi.ids import derived
from homi.links import frames
from homi.links.hints import ASKED, AT_ONCE, MARKS, Hints
from homi.store.base import Mail
from homi.store.memory import MemoryStore
from homi.store.places import queue_of
from tests.unit.links.kit import Turned

MINI, LAB = Device("mini"), Device("lab")
THERE = "2026-01-01T00:00:00.000Z"


class Way:
    """Keeps what is told."""

    def __init__(self) -> None:
        self.told: list[frames.Rung] = []
        self.news = asyncio.Event()

    def tell(self, frame: frames.Rung) -> None:
        self.told.append(frame)
        self.news.set()


class Scene:
    """A store in memory, and hints over links to mini and lab."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.ways = {MINI: Way(), LAB: Way()}
        self.moved: list[Name] = []
        self.news = asyncio.Event()
        self.over = {MINI: [queue_of(MINI)], LAB: [queue_of(LAB)]}
        self.hints = Hints(self.store, Turned(), self.ways.get, self.queues, self.note)

    def queues(self, device: Device) -> Iterable[Name]:
        return self.over[device]

    def note(self, place: Name) -> None:
        self.moved.append(place)
        self.news.set()

    async def keep(self, place: Name, text: str, via: Via | None = None) -> MessageId:
        """Store a message in a place."""
        message = MessageId(derived(text))
        to = "ada" if not place.startswith("@") else f"ada{place}"
        head = Msg(id=message, from_="bob", to=to, text=text)
        via = via or Via(door="control", uid=1)
        tail = b'"at":"2026-01-01T00:00:00.000Z","to":"%b","via":%b,"msg":%b}\n' % (
            to.encode(),
            encode(via),
            encode(head),
        )
        kept = asyncio.get_running_loop().create_future()
        mail = Mail(place, "x", head, via, encode(head), tail, kept.set_result)
        mail.to = to
        self.store.submit(mail)
        await kept
        assert mail.item is not None
        self.hints.arrived(place, mail.item)
        return message

    async def record(self, place: Name, message: MessageId, rung: Rung) -> LedgerLine:
        """A line of somebody else's."""
        seq = self.store.mailbox(place).seq_of(message)
        assert seq is not None
        line = LedgerLine(seq=seq, id=message, rung=rung, at=THERE, by="somebody")
        kept = asyncio.get_running_loop().create_future()
        self.store.record(place, line, kept.set_result)
        assert await kept
        return line

    async def relayed(self, text: str) -> MessageId:
        """A message that mini has stored."""
        message = await self.keep(queue_of(MINI), text)
        await self.record(queue_of(MINI), message, Rung.RELAYED)
        return message

    async def settle(self) -> None:
        """Let what is on its way to the store be there."""
        for _ in range(5):
            await asyncio.sleep(0)

    def lines(self, place: Name) -> list[tuple[Rung, str | None, str | None]]:
        return [(one.rung, one.by, one.there) for one in self.store.ledgers[place]]


def run(test: Callable[[Scene], Awaitable[None]]) -> None:
    """Run it within a time."""

    async def main() -> None:
        scene = Scene()
        scene.hints.start(asyncio.get_running_loop())
        async with asyncio.timeout(60):
            await test(scene)

    asyncio.run(main())


def hint(message: str, rung: str, **more: str) -> frames.Rung:
    """A hint from over there."""
    return frames.Rung(id=message, rung=rung, at=THERE, **more)


def test_a_hint_is_evidence_in_the_queue_of_its_device() -> None:
    """With who told it and when it was there."""

    async def test(scene: Scene) -> None:
        message = await scene.relayed("x")
        box = scene.store.mailbox(queue_of(MINI))
        scene.hints.learn(MINI, hint(message, "offered"))
        await scene.settle()
        assert box.rung_of(message) is Rung.OFFERED
        scene.hints.learn(MINI, hint(message, "seen", by="ack ada pid 7"))
        await scene.settle()
        assert box.rung_of(message) is Rung.SEEN
        assert scene.lines(queue_of(MINI))[1:] == [
            (Rung.OFFERED, "mini", THERE),
            (Rung.SEEN, "mini: ack ada pid 7", THERE),
        ]
        assert scene.moved == [queue_of(MINI)] * 2
        scene.hints.learn(MINI, hint(message, "offered"))  # came late
        await scene.settle()
        assert len(scene.moved) == 2

    run(test)


def test_what_ended_over_there_is_the_end_here() -> None:
    """Who waits for it to be seen must not wait for ever."""

    async def test(scene: Scene) -> None:
        message = await scene.relayed("x")
        scene.hints.learn(MINI, hint(message, "dropped"))
        await scene.settle()
        assert scene.store.mailbox(queue_of(MINI)).rung_of(message) is Rung.DROPPED

    run(test)


@pytest.mark.parametrize(
    "given",
    [
        hint("nobody", "seen"),
        hint(derived("never sent"), "seen"),
        hint(derived("x"), "relayed"),
        hint(derived("x"), "stored"),
        hint(derived("x"), "moved"),
        hint(derived("x"), "glorious"),
        hint(derived("x"), "held", reason="because"),
    ],
)
def test_a_hint_that_makes_no_sense_is_passed_over(given: frames.Rung) -> None:
    """Unknown ids, rungs nobody tells of, and words of a later version."""

    async def test(scene: Scene) -> None:
        message = await scene.relayed("x")
        scene.hints.learn(MINI, given)
        await scene.settle()
        assert len(scene.lines(queue_of(MINI))) == 1
        scene.hints.learn(MINI, hint(message, "seen"))
        await scene.settle()
        assert len(scene.lines(queue_of(MINI))) == 2

    run(test)


def test_a_device_tells_nothing_about_the_mail_of_another() -> None:
    """Only queues that go over it count; mailboxes never."""

    async def test(scene: Scene) -> None:
        message = await scene.relayed("x")
        mine = await scene.keep(Name("ada"), "mine")
        for one in (message, mine):
            scene.hints.learn(LAB, hint(one, "seen"))
        await scene.settle()
        assert scene.store.mailbox(queue_of(MINI)).rung_of(message) is Rung.RELAYED
        assert scene.store.mailbox(Name("ada")).rung_of(mine) is Rung.STORED
        scene.over[LAB].append(queue_of(MINI))  # a route over lab
        scene.hints.learn(LAB, hint(message, "seen"))
        await scene.settle()
        assert scene.store.mailbox(queue_of(MINI)).rung_of(message) is Rung.SEEN

    run(test)


def test_marks_beside_the_ladder_are_kept_only_so_often() -> None:
    """A device that holds and defers for ever fills no disk here."""

    async def test(scene: Scene) -> None:
        message = await scene.relayed("x")
        reasons = [Reason.BUSY, Reason.PACED] * 100
        for reason in reasons:
            scene.hints.learn(MINI, hint(message, "deferred", reason=reason))
        await scene.settle()
        assert len(scene.lines(queue_of(MINI))) == 1 + MARKS
        assert scene.store.mailbox(queue_of(MINI)).rung_of(message) is Rung.RELAYED

    run(test)


def test_a_hint_that_overtakes_its_ack_waits_for_it() -> None:
    """The rung is not lost, and does not end up below."""

    async def test(scene: Scene) -> None:
        place = queue_of(MINI)
        message = await scene.keep(place, "x")
        scene.hints.learn(MINI, hint(message, "offered"))
        scene.hints.learn(MINI, hint(message, "seen"))
        await scene.settle()
        assert place not in scene.moved
        await scene.record(place, message, Rung.RELAYED)
        await scene.news.wait()
        assert scene.store.mailbox(place).rung_of(message) is Rung.SEEN

    run(test)


def test_what_becomes_of_mail_from_a_link_is_told_there_once_for_all_steps() -> None:
    """Intent, offered, taken and seen of one hand-over are one frame."""

    async def test(scene: Scene) -> None:
        via = Via(door="link", device="mini")
        message = await scene.keep(Name("ada"), "from mini", via)
        own = await scene.keep(Name("ada"), "from here")
        for one in (message, own):
            for rung in (Rung.INTENT, Rung.OFFERED, Rung.TAKEN, Rung.SEEN):
                line = await scene.record(Name("ada"), one, rung)
                scene.hints.recorded(Name("ada"), line)
        await scene.ways[MINI].news.wait()
        (told,) = scene.ways[MINI].told
        assert (told.id, told.rung, told.by) == (message, "seen", "somebody")
        assert scene.ways[LAB].told == []
        assert hint(message, "seen")  # control: it is a frame the other end takes

    run(test)


def test_mail_that_went_on_from_here_is_told_of_along_the_way_back() -> None:
    """From lab over this device to mini: what mini tells, lab hears, by its clock."""

    async def test(scene: Scene) -> None:
        via = Via(door="link", device="far", relay="lab", key="SHA256:x")
        place = queue_of(MINI)
        message = await scene.keep(place, "on its way", via)
        await scene.record(place, message, Rung.RELAYED)
        scene.hints.learn(MINI, hint(message, "seen"))
        await scene.ways[LAB].news.wait()
        (told,) = scene.ways[LAB].told
        assert (told.id, told.rung, told.at) == (message, "seen", THERE)

    run(test)


def test_at_a_meeting_the_newest_open_messages_are_asked_about() -> None:
    """What was seen is not; a hint lost in between is made good."""

    async def test(scene: Scene) -> None:
        sent = [await scene.relayed(f"{number}") for number in range(ASKED + 10)]
        scene.hints.learn(MINI, hint(sent[-1], "seen"))
        await scene.settle()
        asked = list(scene.hints.open(MINI))
        assert [one for ids in asked for one in ids] == sent[9:-1]
        assert max(map(len, asked)) == AT_ONCE
        scene.hints.take(MINI, FarRung(sent[-2], Rung.ANSWERED, THERE))
        await scene.settle()
        box = scene.store.mailbox(queue_of(MINI))
        assert box.rung_of(sent[-2]) is Rung.ANSWERED

    run(test)
