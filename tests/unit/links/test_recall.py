"""What the other end lost is found when two meet, and goes again in its order."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from homi.address import Device, Name
from homi.envelope import Kind, MessageId, Msg, Rung, Via
from homi.errors import HomiError, NotReached, StorageFailed, Usage
from homi.far import FarMissing
from homi.links.answering import Asker, Reply
from homi.links.losses import Losses, Marks
from homi.links.recall import FIRST, HOLD, RETRY, VERB, Recall
from homi.store.disk import RealDisk
from homi.store.index import Entry
from homi.store.mailbox import Item
from homi.store.memory import MemoryStore
from homi.store.places import queue_of
from homi.store.relayed import CHUNK, Letters, Sent
from homi.store.state import StateFile
from tests.unit.links.kit import Pair

MINI = queue_of(Device("mini"))
STAMP = "2026-11-30T10:00:00.000Z"


def id_of(seq: int) -> MessageId:
    """The id of the message at that seq."""
    return MessageId(f"00000000-0000-4000-8000-{seq:012x}")


def entry(seq: int) -> Entry:
    """It as the index has it."""
    fields: dict[str, Any] = dict.fromkeys(Entry.__struct_fields__)
    fields |= {"name": MINI, "seq": seq, "segment": 0, "id": id_of(seq)}
    return Entry(**fields | {"rung": Rung.RELAYED, "pending": False})


def item(seq: int) -> Item:
    """It as a queue has it."""
    head = Msg(id=id_of(seq), from_="ada", to="bob", text="", kind=Kind.MAIL)
    return Item(seq, seq * 100, 100, head, Via(door="control"), STAMP, "bob@mini")


class Files:
    """The messages 1 to count went to mini; what is looked up is answered at once."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.unreadable: set[int] = set()
        self.error: HomiError | None = None
        self.below: list[int | None] = []
        self.asked: list[list[MessageId]] = []

    def sent(self, _queue: Name, below: int | None, _since: str, reply: Reply) -> None:
        self.below.append(below)
        if self.error is not None:
            reply(self.error)
            return
        top = self.count if below is None else below - 1
        seqs = range(top, max(0, top - CHUNK), -1)
        reply(Sent([entry(seq) for seq in seqs], len(seqs) == CHUNK))

    def letters(
        self, _queue: Name, sent: Sent, by: frozenset[str], _now: float, reply: Reply
    ) -> None:
        assert by == {"link mini", "bundle mini"}
        seqs = sorted({one.seq for one in sent.entries} - self.unreadable)
        reply(Letters([item(seq) for seq in seqs]))

    def missing(self, ids: list[MessageId], reply: Reply) -> None:
        self.asked.append(ids)
        reply(FarMissing(ids))


class Queues:
    """What a feed is told."""

    def __init__(self) -> None:
        self.released: list[Name] = []
        self.lost: list[int] = []
        self.found: Callable[[], None] | None = None

    def release(self, place: Name) -> None:
        if place not in self.released:
            self.released.append(place)

    def again(
        self, place: Name, items: Iterable[Item], found: Callable[[], None]
    ) -> None:
        assert place not in self.released
        self.lost += [one.seq for one in items]
        self.found = found


class World:
    """laptop, whose files hold so many messages that mini took."""

    def __init__(self, root: Path, count: int, *, remembered: bool = True) -> None:
        self.root = root
        self.pair = Pair()
        self.store = MemoryStore()
        self.files = Files(count)
        self.queues = Queues()
        self.recall = self.opened()
        self.knows: Callable[[int], bool] = lambda _seq: True
        self.questions: list[int] = []  # how many ids each asked about
        for seq in range(1, count + 1) if remembered else ():
            self.store.mailbox(MINI).remember(seq, id_of(seq), Rung.RELAYED)

    def opened(self) -> Recall:
        """As a start of the daemon finds it."""
        file = StateFile(str(self.root / "recall.json"), RealDisk(), Marks)
        return Recall(self.store, self.files, Losses(file))

    def meet(self) -> None:
        """Ask; mini answers by what it knows."""
        exchange = self.pair.laptop.exchange
        self.recall.met(exchange, [MINI], self.queues)
        busy = True
        while busy:
            self.pair.carry()
            busy = self.answer()

    def answer(self) -> bool:
        """mini answers what it was asked; whether it was."""
        port, exchange = self.pair.mini.port, self.pair.mini.exchange
        asked, port.questions = port.questions, []
        for req, line in asked:
            assert req.verb == VERB
            ids = msgspec.json.decode(line)["ids"]
            self.questions.append(len(ids))
            seqs = [int(one[-12:], 16) for one in ids]
            gone = [id_of(seq) for seq in seqs if not self.knows(seq)]
            exchange.reply(req.i, FarMissing([str(one) for one in gone]))
        return bool(asked)


def test_where_the_newest_are_known_one_small_question_is_all(tmp_path: Path) -> None:
    """No file is read, and the queue goes at once."""
    world = World(tmp_path, 1_000)
    world.meet()
    assert world.questions == [FIRST]
    assert (world.queues.released, world.queues.lost) == ([MINI], [])
    assert world.files.below == []
    assert not (tmp_path / "recall.json").exists()


def test_what_is_lost_goes_again_from_the_oldest_on(tmp_path: Path) -> None:
    """As far back as something is missing, and one chunk beyond."""
    world = World(tmp_path, 2_000)
    world.knows = lambda seq: seq <= 1_300
    world.meet()
    assert world.queues.lost == list(range(1_301, 2_001))
    assert world.queues.released == [MINI]
    assert world.questions == [FIRST, *[CHUNK] * 4]


def test_behind_a_start_the_files_tell_what_was_sent(tmp_path: Path) -> None:
    """Memory holds little then; and of an empty queue nothing is asked."""
    world = World(tmp_path, 300, remembered=False)
    world.knows = lambda seq: seq != 299
    world.meet()
    assert world.queues.lost == [299]
    empty = World(tmp_path, 0)
    empty.meet()
    assert (empty.questions, empty.queues.released) == ([], [MINI])


def test_of_a_queue_that_nothing_ever_left_no_file_is_read(tmp_path: Path) -> None:
    """All of it is pending, and goes at once; where one is not, the files tell."""
    for gone, below in ((0, []), (1, [None])):
        world = World(tmp_path, 0)
        box = world.store.mailbox(MINI)
        box.last_seq = 300
        box.pending.update((seq, item(seq)) for seq in range(1 + gone, 301))
        world.meet()
        assert world.queues.released == [MINI]
        assert (world.questions, world.files.below) == ([], below)


def test_a_crash_while_they_go_again_forgets_none(tmp_path: Path) -> None:
    """What is newer went through meanwhile and would hide them; the mark stays until
    all of them are settled."""
    world = World(tmp_path, 900)
    world.knows = lambda seq: seq not in (400, 850)
    world.meet()
    assert world.queues.lost == [850]  # a whole chunk is known: no copy has a hole
    world.recall.losses.mark(MINI, 400)
    world.recall = world.opened()
    world.queues = Queues()
    world.knows = lambda seq: seq != 400
    world.meet()
    assert world.queues.lost == [400]
    assert world.opened().losses.first(MINI) == 400
    assert world.queues.found is not None
    world.queues.found()
    assert world.opened().losses.first(MINI) is None


def test_an_end_that_does_not_know_the_question_has_them_all(tmp_path: Path) -> None:
    """An older homi: the queue goes on."""
    world = World(tmp_path, 100)
    world.recall.met(world.pair.laptop.exchange, [MINI], world.queues)
    world.pair.carry()
    assert world.queues.released == []
    ((req, _),) = world.pair.mini.port.questions
    world.pair.mini.exchange.reply(req.i, Usage("no question missing is known here"))
    world.pair.carry()
    assert (world.queues.released, world.queues.lost) == ([MINI], [])


def test_a_queue_does_not_wait_for_ever(tmp_path: Path) -> None:
    """A question that got lost is asked on a new connection, before any newer mail; an
    end that is silent about it holds mail up once more, and is asked about all of it
    the next time, whatever newer mail it has then."""
    world = World(tmp_path, 600)
    for silent in (1, 2):
        exchange = world.pair.laptop.exchange
        world.recall.met(exchange, [MINI], world.queues)
        world.pair.loop.pass_time(HOLD - 0.1)
        assert world.queues.released == []
        world.pair.loop.pass_time(0.2)
        ends = [reason for reason, _ in world.pair.laptop.port.ends]
        assert ends == (["silent"] if silent == 1 else [])
        world.recall.ended(exchange)
        world.pair = Pair()
    assert world.queues.released == [MINI]
    world.queues = Queues()
    world.files.count = 1_200
    world.knows = lambda seq: seq <= 500 or seq > 600
    for seq in range(601, 1_201):
        world.store.mailbox(MINI).remember(seq, id_of(seq), Rung.RELAYED)
    world.meet()
    assert world.queues.lost == list(range(501, 601))
    world.queues = Queues()
    world.recall.losses.unmark(MINI)
    world.questions.clear()
    world.meet()
    assert world.questions == [FIRST]


def test_a_busy_thread_is_asked_again_a_broken_disk_is_not(tmp_path: Path) -> None:
    """Neither keeps the queue."""
    world = World(tmp_path, 100, remembered=False)
    world.files.error = NotReached("too many look at once", reason="busy")
    world.meet()
    assert world.queues.released == []
    world.files.error = StorageFailed("no")
    world.pair.loop.pass_time(RETRY + 0.01)
    assert world.files.below == [None, None]
    assert world.queues.released == [MINI]


def test_an_end_of_the_exchange_ends_the_question(tmp_path: Path) -> None:
    """Nothing is released behind it."""
    world = World(tmp_path, 100)
    world.recall.met(world.pair.laptop.exchange, [MINI], world.queues)
    world.recall.ended(world.pair.laptop.exchange)
    world.pair.laptop.exchange.close("closed")
    world.pair.loop.pass_time(HOLD + 1)
    assert world.queues.released == []


def test_what_is_in_memory_is_known_and_the_rest_is_looked_up(tmp_path: Path) -> None:
    """In mailboxes and queues alike; what is no id is not asked about."""
    world = World(tmp_path, 0)
    world.store.mailbox(Name("ada")).remember(1, id_of(1), Rung.SEEN)
    world.store.mailbox(MINI).remember(2, id_of(2), Rung.RELAYED)
    answers: list[object] = []
    asker = Asker(Device("laptop"), "SHA256:x")
    for ids in ([id_of(1), id_of(2)], [id_of(1), id_of(3), "../x"]):
        world.recall.answer(asker, msgspec.json.encode({"ids": ids}), answers.append)
    assert answers == [FarMissing([]), FarMissing([id_of(3)])]
    assert world.files.asked == [[id_of(3)]]
    with pytest.raises(msgspec.DecodeError):
        world.recall.answer(asker, b'{"ids":7}', answers.append)
