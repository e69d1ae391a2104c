"""What two devices tell each other beside mail, over a whole exchange."""

from asyncio import AbstractEventLoop
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import cast

import msgspec
import pytest

from homi.address import Device, Name, parse_address
from homi.claims import State
from homi.company import Guest
from homi.config import MIRROR_GRACE
from homi.envelope import LedgerLine, MessageId, Msg, Rung, Via
from homi.errors import HomiError
from homi.far import FarName, FarRow, FarRung, FarRungs, Step, Steps
from homi.ids import derived
from homi.links import frames
from homi.links.answering import DEFAULT, Answering, Asker, Grant, Reply
from homi.links.exchange import Exchange
from homi.links.gossip import DRAINING, LIMIT, Gossip, Parts
from homi.links.hints import Hints
from homi.links.known import NAMES_MAX, Book, KnownNames
from homi.links.later import Later
from homi.links.mirroring import Mirroring
from homi.links.telling import Telling
from homi.names import Names
from homi.owners import Owners
from homi.sessions import Sessions
from homi.store.disk import RealDisk
from homi.store.memory import MemoryStore
from homi.store.places import queue_of
from homi.store.state import StateFile
from tests.unit.links.kit import End, Pair, Turned

MINI = Device("mini")
NOW = "2026-01-01T00:00:00.000Z"


class Side:
    """One device: its names, and gossip over one end of a pair."""

    def __init__(self, root: Path, end: End, device: str) -> None:
        self.end, self.device = end, Device(device)
        clock = Turned()
        disk = RealDisk()
        root.mkdir(exist_ok=True)
        self.names = Names(StateFile(str(root / "names.json"), disk, State))
        sessions = Sessions([root / "c"], clock)
        owners = Owners(self.names, sessions)
        self.saves = Later(2.0)
        self.tells = Later(0.25)
        self.known_file = root / "known.json"
        known = KnownNames(StateFile(str(self.known_file), disk, Book), self.saves)
        self.mirroring = Mirroring(self.names.mirrors, known.names, clock)
        self.known = known
        self.telling = Telling(self.names, owners, self.ears, self.tells)
        self.queue = (store := MemoryStore()).mailbox(queue_of(MINI))
        over = (self.queue.name,)
        hints = Hints(store, clock, self.up, lambda _one: over, lambda _one: None)
        self.granted = DEFAULT
        self.looked: list[tuple[str, list[MessageId]]] = []
        self.where: list[list[Name] | None] = []
        self.gossip = Gossip(
            Parts(self.telling, known, self.mirroring, hints),
            clock,
            self,
            lambda: [FarName("shown", 1, live=True, pending=3)],
            (self.rungs, self.steps),
        )
        loop = cast(AbstractEventLoop, end.loop)
        self.saves.start(loop, known.save)
        self.tells.start(loop, self.telling.flush)
        self.mirroring.start(loop, ())
        self.gossip.start(loop)
        port = end.port
        port.asked = self.asked  # type: ignore[method-assign]
        port.names = self.gossip.names  # type: ignore[method-assign]

    def claim(self, *names: str) -> None:
        for name in names:
            self.names.claim(name, None, 1.0)

    def waits(self, seq: int) -> MessageId:
        """Keep a message for mini; its id."""
        message = MessageId(derived(str(seq)))
        head = Msg(id=message, from_="bob", to="ada@mini", text="text")
        via = Via(door="control", uid=1)
        self.queue.arrived(seq, 0, 1, head, via, NOW, head.to)
        return head.id

    def relayed(self, seq: int) -> None:
        """That one is over there."""
        message = self.queue.pending[seq].id
        self.queue.apply(LedgerLine(seq=seq, id=message, rung=Rung.RELAYED, at=NOW))

    def met(self) -> None:
        self.gossip.met(self.end.exchange)

    def listed(self) -> list[str]:
        return [each.to for each in self.names.mirrors.all()]

    def rungs(
        self, key: str, ids: list[MessageId], places: list[Name] | None, reply: Reply
    ) -> None:
        self.looked.append((key, ids))
        self.where.append(places)
        reply(FarRungs([FarRung(one, Rung.STORED) for one in ids]))

    def steps(
        self, key: str, ids: list[MessageId], places: list[Name] | None, reply: Reply
    ) -> None:
        self.looked.append((key, ids))
        self.where.append(places)
        reply(Steps("me", [Step("ada", "stored", "2026-01-01T00:00:00.000Z")]))

    def asked(self, exchange: Exchange, req: frames.Req, line: bytes) -> None:
        self.gossip.questions[req.verb](exchange, req, line)

    # -- the links, as gossip asks them

    def ears(self) -> list[Exchange]:
        return self.gossip.exchanges()

    def up(self, _device: Device) -> Exchange | None:
        found = self.gossip.exchanges()
        return found[0] if found else None

    def devices(self) -> Iterable[Device]:
        return (self.device,)

    def grants(self, _device: Device) -> frozenset[Grant]:
        return self.granted

    def over(self, device: Device) -> Device | None:
        return MINI if device == "attic" else None

    def state(self, _device: Device) -> str:
        return "up" if self.gossip.exchanges() else "unreachable"


class Two(Pair):
    """Two devices that have met, as far as the exchange goes."""

    def __init__(self, root: Path) -> None:
        super().__init__()
        self.here = Side(root / "l", self.laptop, "laptop")
        self.there = Side(root / "m", self.mini, "mini")

    def meet(self) -> None:
        self.here.met()
        self.there.met()
        self.carry()

    def after(self, seconds: float) -> None:
        self.loop.pass_time(seconds)
        self.carry()


@pytest.fixture
def two(tmp_path: Path) -> Two:
    """Two devices."""
    return Two(tmp_path)


def row(two: Two) -> Callable[[], FarRow]:
    """Ask mini for its names; the answer when it is there."""
    rows: list[FarRow] = []
    two.here.gossip.far(MINI, rows.append)
    return lambda: rows[0]


def test_a_device_behind_another_is_not_asked_and_it_is_said_over_which(
    two: Two,
) -> None:
    """Up or not; the other one is asked for its own."""
    found: list[FarRow] = []
    two.here.gossip.far(Device("attic"), found.append)
    two.meet()
    two.here.gossip.far(Device("attic"), found.append)
    for one in found:
        assert (one.asked, one.via, one.names) == (False, "mini", [])
        assert one.why == "reached over mini, which tells no names of it"
    answer = row(two)
    two.carry()
    assert (answer().asked, answer().via) == (True, "")


def test_the_rooms_of_a_device_that_is_not_asked_are_told_of_with_what_helps(
    two: Two,
) -> None:
    """A check of a way that mail takes would find nothing."""
    said: list[msgspec.Struct | HomiError] = []
    for device in (Device("attic"), MINI):
        two.here.gossip.rooms(device, Guest("ls"), said.append)
    assert [one.hint for one in said if isinstance(one, HomiError)] == [
        "on attic: homi room",
        "homi link check mini",
    ]


def test_names_cross_when_two_meet_and_when_they_change(two: Two) -> None:
    """Claims only: aliases and built-in names stay at home."""
    two.there.claim("ada", "bob")
    two.there.names.add_alias("eve", parse_address("ada"), 1.0)
    two.here.mirroring.want(MINI, wanted=True)
    two.meet()
    assert two.here.listed() == ["ada@mini", "bob@mini"]
    two.there.claim("new")
    two.there.names.release("bob")
    two.carry()
    assert two.here.listed() == ["ada@mini", "bob@mini"]  # joined: not yet
    two.after(1.0)
    assert two.here.listed() == ["ada@mini", "new@mini"]
    assert two.there.listed() == []


def test_many_changes_are_one_frame(two: Two) -> None:
    """A thousand claims in a row cost the link one line."""
    two.meet()
    two.mini.wire.taken()
    two.there.claim(*[f"n{number}" for number in range(200)])
    two.loop.pass_time(1.0)
    told = [line for line in two.mini.wire.taken() if b'"f":"names"' in line]
    assert len(told) == 1
    assert told[0].count(b'"name"') == 200


def test_what_was_told_outlives_the_daemon(two: Two, tmp_path: Path) -> None:
    """A device that is away can still be listed, with its age."""
    two.there.claim("ada")
    two.meet()
    two.after(5.0)
    again = KnownNames(
        StateFile(str(two.here.known_file), RealDisk(), Book), lambda: None
    )
    assert again.names(MINI) == {Name("ada"): 1}
    assert again.of(MINI).at == two.here.known.of(MINI).at != ""
    again.forget(MINI)
    assert again.names(MINI) == {}


def test_of_hostile_names_only_names_are_kept(two: Two) -> None:
    """Paths, reserved words and floods take no room."""
    many = [frames.NameRow(f"n{number}") for number in range(NAMES_MAX + 50)]
    bad = [frames.NameRow(name) for name in ("../x", "A", "a..b", "@mini", "")]
    frame = frames.Names(all=True, names=bad + many, gone=["never", "../x"])
    two.here.known.take(MINI, frame, "2026-01-01T00:00:00.000Z")
    assert len(two.here.known.names(MINI)) == NAMES_MAX
    more = frames.Names(names=[frames.NameRow("late", 7), frames.NameRow("n3", 9)])
    two.here.known.take(MINI, more, "2026-01-01T00:00:00.000Z")
    assert two.here.known.names(MINI)[Name("n3")] == 9
    assert len(two.here.known.names(MINI)) == NAMES_MAX


def test_a_device_answers_for_its_names_within_a_time(two: Two) -> None:
    """Else what it told last stands, with why."""
    two.there.claim("ada")
    two.meet()
    asked = row(two)
    two.carry()
    assert asked().asked
    assert asked().names == [FarName("shown", 1, live=True, pending=3)]
    late = row(two)
    two.laptop.wire.taken()  # lost on the way
    two.after(LIMIT + 1)
    assert not late().asked
    assert late().why == "no answer in time"
    assert [one.name for one in late().names] == ["ada"]
    two.here.gossip.ended(two.laptop.exchange)
    away = row(two)
    assert (away().state, away().asked, len(away().names)) == ("unreachable", False, 1)


def test_what_became_of_a_message_is_asked_by_the_key_of_who_asks(two: Two) -> None:
    """The far side looks among what came by that link alone."""
    two.meet()
    found: list[Steps] = []
    two.here.gossip.steps(MINI, MessageId("x"), found.append)
    two.carry()
    assert found[0].asked
    assert found[0].device == "mini"
    assert [step.rung for step in found[0].steps] == ["stored"]
    assert two.laptop.exchange.peer is not None
    fingerprint = two.mini.exchange.peer and two.mini.exchange.peer.fingerprint
    assert two.there.looked == [(fingerprint, ["x"])]


def test_what_became_of_messages_is_looked_up_in_the_places_they_are_in(
    two: Two,
) -> None:
    """Reading the files of all others takes long; of one that memory does not know
    any more, nobody knows where it is."""
    two.meet()
    here = two.there.waits(1)
    two.here.gossip.steps(MINI, here, lambda _found: None)
    two.here.gossip.steps(MINI, MessageId("x"), lambda _found: None)
    two.carry()
    assert two.there.where == [[queue_of(MINI)], None]
    assert two.there.queue.known({here, MessageId("x")}) == {here}
    two.there.relayed(1)
    assert two.there.queue.known({here}) == {here}


def test_how_far_messages_are_is_asked_once_the_queue_gets_no_shorter(two: Two) -> None:
    """The other end would read its files for the answer while it takes in mail."""
    asked = two.there.looked
    first, second, third = (two.here.waits(seq) for seq in (1, 2, 3))
    two.here.relayed(1)
    two.meet()
    two.here.relayed(2)
    two.after(DRAINING)
    assert not asked
    two.here.relayed(3)
    two.after(DRAINING)
    assert [ids for _, ids in asked] == [[first]]  # what followed is told of anyway
    asked.clear()
    two.here.waits(4)
    two.meet()
    assert not asked
    two.after(DRAINING)
    assert [ids for _, ids in asked] == [[first, second, third]]


def test_mirrors_are_withdrawn_when_the_link_is_down_for_long(two: Two) -> None:
    """And come back with it; a short cut is nobody's business."""
    mirrors = two.here.names.mirrors
    two.there.claim("ada")
    two.here.mirroring.want(MINI, wanted=True)
    two.meet()
    two.here.gossip.ended(two.laptop.exchange)
    two.loop.pass_time(MIRROR_GRACE / 2)
    two.here.met()
    two.loop.pass_time(MIRROR_GRACE)
    assert not mirrors.withdrawn(MINI)
    two.here.gossip.ended(two.laptop.exchange)
    two.loop.pass_time(MIRROR_GRACE + 1)
    assert mirrors.withdrawn(MINI)
    assert two.here.listed() == ["ada@mini"]
    two.here.met()
    assert not mirrors.withdrawn(MINI)
    two.here.mirroring.want(MINI, wanted=False)
    assert two.here.listed() == []


def test_a_start_waits_as_long_for_each_link(two: Two) -> None:
    """What was mirrored is listed at once; what nobody wants any more is gone."""
    mirrors = two.here.names.mirrors
    for device in ("mini", "lab"):
        mirrors.sync(Device(device), {Name("ada"): 1}, 1.0)
    loop = cast(AbstractEventLoop, two.loop)
    two.here.mirroring.start(loop, [MINI])
    assert two.here.listed() == ["ada@mini"]
    two.loop.pass_time(MIRROR_GRACE - 1)
    assert not mirrors.withdrawn(MINI)
    two.loop.pass_time(2)
    assert mirrors.withdrawn(MINI)


def test_questions_need_a_grant_and_bad_ones_end_no_link(two: Two) -> None:
    """Mistyped fields and what is not granted get an error."""
    granted = {Grant.NAMES}
    answering = Answering(lambda _device: frozenset(granted))
    said: list[Asker] = []

    def fail(_asker: Asker, _line: bytes, _reply: Reply) -> None:
        raise HomiError("not today")

    def decode(asker: Asker, line: bytes, _reply: Reply) -> None:
        said.append(asker)
        msgspec.json.decode(line, type=FarRungs)

    questions = {
        "ls": answering.done_by(Grant.NAMES, fail),
        "rungs": answering.done_by(Grant.NAMES, decode),
        "trace": answering.done_by(Grant.TRACE, decode),
    }
    two.mini.port.asked = lambda exchange, req, line: questions[req.verb](  # type: ignore[method-assign]
        exchange, req, line
    )
    answers: list[frames.Res | None] = []
    for verb in ("ls", "rungs", "trace"):
        two.laptop.exchange.ask(verb, {"rungs": 5}, answers.append)
    two.carry()
    texts = [one.error.text for one in answers if one is not None and one.error]
    assert texts == [
        "not today",
        "rungs not understood: Expected `array`, got `int` - at `$.rungs`",
        "laptop is not granted trace here",
    ]
    assert [asker.device for asker in said] == ["laptop"]
    granted.add(Grant.TRACE)
    two.laptop.exchange.ask("trace", {"rungs": []}, answers.append)
    two.carry()
    assert len(said) == 2


def test_an_answer_nobody_can_read_is_no_answer(two: Two) -> None:
    """A peer of another mind costs the listing its names, nothing else."""
    two.meet()
    two.mini.port.asked = lambda exchange, req, _line: exchange.reply(  # type: ignore[method-assign]
        req.i, FarRow("x", "y")
    )
    asked = row(two)
    two.carry()
    assert not asked().asked
    assert asked().why == "it gave an answer this homi cannot read"
