"""The witness at work: real files, real notices, a clock that the test turns."""

import asyncio
import os
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import pytest

from homi import inotify
from homi.envelope import MessageId, Rung, SessionRef
from homi.legs import reading, witness
from homi.legs.base import (
    Blocked,
    Evidence,
    Ignored,
    ModelFailed,
    NoProof,
    Seen,
    Taken,
)
from homi.legs.verdict import Doubt
from homi.legs.witness import ClaudeWitness
from homi.sessions import Session
from tests.unit.legs.lines import Book, Talk, letter, new_id, session, tagged

BOTH = frozenset({Rung.OFFERED, Rung.SEEN})
LONG = 3600.0


class Clock:
    """Stands still until it is turned."""

    def __init__(self) -> None:
        self.now = 1000.0

    def wall(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now

    def boot(self) -> float:
        return self.now


class Bench:
    """A witness, one session, its transcript, and what was told of it."""

    def __init__(self, config: Path) -> None:
        self.config = config
        self.clock = Clock()
        self.told: list[tuple[SessionRef, Evidence]] = []
        self.witness = ClaudeWitness(self.take, self.clock)
        self.session = session(config)
        self.talk = Talk()
        self._stirred = asyncio.Event()

    @property
    def book(self) -> Book:
        """The file of the present conversation."""
        return Book(self.config, self.session.session_id)

    def take(self, ref: SessionRef, evidence: Evidence) -> None:
        """The sink."""
        self.told.append((ref, evidence))
        self._stirred.set()

    def offer(self, message: MessageId | None = None) -> MessageId:
        """Hand a letter over; nothing is in the file yet."""
        sent = letter(message=message)
        self.witness.watch(self.session, sent)
        self.witness.offered(self.session, sent.msg.id)
        return sent.msg.id

    def write(self) -> None:
        """Put the lines of talk into the file."""
        self.book.add(self.talk)

    def change(self, **fields: object) -> None:
        """The session's record changes."""
        self.session = msgspec.structs.replace(self.session, **fields)
        self.witness.changed(self.session)

    def of(self, message: MessageId) -> list[type[Evidence]]:
        """What was told of a letter, in order."""
        return [type(e) for _, e in self.told if e.id == message]

    async def until(self, message: MessageId, *kinds: type[Evidence]) -> None:
        """Wait until exactly this was told of it."""
        async with asyncio.timeout(60):
            while self.of(message) != list(kinds):
                self._stirred.clear()
                await self._stirred.wait()

    async def control(self) -> None:
        """Positive control: another letter is taken and seen behind all this."""
        other = self.offer()
        self.talk.taken(other)
        self.talk.answer()
        self.write()
        await self.until(other, Taken, Seen)
        self.witness.forget(self.session.ref, other)


def run(config: Path, scene: Callable[[Bench], Awaitable[None]]) -> None:
    """Play a scene on a loop of its own, and see that nothing stays open."""

    async def main() -> None:
        before = len(os.listdir("/proc/self/fd"))
        bench = Bench(config)
        await scene(bench)
        for ref, evidence in bench.told:
            bench.witness.forget(ref, evidence.id)
        await bench.witness.finish(bench.session)
        bench.witness.close()
        assert len(os.listdir("/proc/self/fd")) == before

    asyncio.run(main())


@pytest.fixture
def _no_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only notices can tell."""
    monkeypatch.setattr(witness, "NET", LONG)


@pytest.fixture
def _no_notice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the record and the timer can tell."""
    monkeypatch.setattr(inotify, "available", lambda: False)


@pytest.mark.skipif(not inotify.available(), reason="needs inotify")
@pytest.mark.usefixtures("_no_timer")
def test_lines_are_seen_by_a_notice(tmp_path: Path) -> None:
    """Without any timer or change of the record."""

    async def scene(bench: Bench) -> None:
        bench.book.write(b"{}\n")
        message = bench.offer()
        bench.talk.taken(message)
        bench.write()
        await bench.until(message, Taken)
        bench.talk.answer()
        bench.write()
        await bench.until(message, Taken, Seen)
        assert bench.told[0][0] == bench.session.ref

    run(tmp_path, scene)


@pytest.mark.skipif(not inotify.available(), reason="needs inotify")
@pytest.mark.usefixtures("_no_timer")
def test_a_file_in_a_folder_that_is_there_is_found_by_the_record(
    tmp_path: Path,
) -> None:
    """A first letter makes the file; the session's status tells when to look."""

    async def scene(bench: Bench) -> None:
        Book(bench.config, str(uuid.uuid4())).write(b"{}\n")
        message = bench.offer()
        bench.talk.taken(message)
        bench.write()
        bench.change(status="busy")
        await bench.until(message, Taken)
        bench.talk.answer()
        bench.write()
        await bench.until(message, Taken, Seen)

    run(tmp_path, scene)


@pytest.mark.usefixtures("_no_notice", "_no_timer")
def test_lines_are_seen_by_a_change_of_the_record(tmp_path: Path) -> None:
    """The status changes up to a tenth of a second before the lines are there."""

    async def scene(bench: Bench) -> None:
        bench.book.write(b"{}\n")
        message = bench.offer()
        bench.change(status="busy")
        bench.talk.taken(message)
        bench.talk.answer()
        bench.write()
        await bench.until(message, Taken, Seen)

    run(tmp_path, scene)


@pytest.mark.usefixtures("_no_notice")
def test_lines_are_seen_by_the_timer_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every notice may be lost: that costs time only."""
    monkeypatch.setattr(witness, "NET", 0.05)

    async def scene(bench: Bench) -> None:
        message = bench.offer()
        bench.talk.taken(message)
        bench.write()
        await bench.until(message, Taken)
        bench.talk.answer()
        bench.write()
        await bench.until(message, Taken, Seen)

    run(tmp_path, scene)


def test_an_agent_that_prints_the_letter_proves_nothing(tmp_path: Path) -> None:
    """Neither in a tool's result nor in an answer."""

    async def scene(bench: Bench) -> None:
        message = bench.offer()
        bench.talk.result(tagged(message))
        bench.talk.answer(tagged(message))
        bench.write()
        await bench.control()
        assert bench.of(message) == []
        assert not bench.witness.taken_before(bench.session, message)

    run(tmp_path, scene)


def test_two_letters_share_the_reading_of_one_file(tmp_path: Path) -> None:
    """One answer closes both; one that is forgotten is told no more."""

    async def scene(bench: Bench) -> None:
        first, second, third = bench.offer(), bench.offer(), bench.offer()
        bench.witness.forget(bench.session.ref, second)
        bench.talk.taken(first)
        bench.talk.taken(second)
        bench.talk.taken(third)
        bench.talk.answer()
        bench.write()
        await bench.until(first, Taken, Seen)
        await bench.until(third, Taken, Seen)
        assert bench.of(second) == []

    run(tmp_path, scene)


def test_a_letter_taken_before_is_found_and_closed_by_the_next_answer(
    tmp_path: Path,
) -> None:
    """A conversation that is resumed holds it; it is not offered again."""

    async def scene(bench: Bench) -> None:
        message, never = new_id(), new_id()
        bench.talk.said("x" * 5000)
        bench.talk.taken(message)
        bench.talk.synthetic()
        bench.write()
        assert bench.witness.taken_before(bench.session, message)
        assert not bench.witness.taken_before(bench.session, never)
        bench.witness.watch(bench.session, letter(message=message))
        await bench.until(message, Taken)
        bench.talk.answer()
        bench.write()
        await bench.until(message, Taken, Seen)

    run(tmp_path, scene)


def test_an_answer_that_came_while_nobody_watched_counts(tmp_path: Path) -> None:
    """After a restart the lines between are read once more."""

    async def scene(bench: Bench) -> None:
        message, lost = new_id(), new_id()
        bench.talk.taken(lost)
        bench.talk.compacted()
        bench.talk.taken(message)
        bench.talk.answer()
        bench.write()
        bench.witness.watch(bench.session, letter(message=message))
        bench.witness.watch(bench.session, letter(message=lost))
        await bench.until(message, Taken, Seen)
        await bench.until(lost, Taken)

    run(tmp_path, scene)


def test_a_frame_of_another_process_with_our_id_is_no_proof(tmp_path: Path) -> None:
    """Any process of the user can write one; an earlier daemon of ours is gone."""

    async def scene(bench: Bench) -> None:
        forged, earlier = new_id(), new_id()
        bench.talk.taken(forged, verifiedPeerPid=1, verifiedPeerProcStart="0")
        bench.talk.taken(earlier, verifiedPeerPid=1 << 30)
        bench.write()
        assert bench.witness.taken_before(bench.session, earlier)
        parent = os.getppid()
        alive = new_id()
        start = witness.start_time(parent)
        bench.talk.taken(alive, verifiedPeerPid=parent, verifiedPeerProcStart=start)
        bench.write()
        assert not bench.witness.taken_before(bench.session, alive)

    run(tmp_path, scene)


def test_a_moved_file_is_followed(tmp_path: Path) -> None:
    """/cd renames it into another folder and changes the record."""

    async def scene(bench: Bench) -> None:
        message = bench.offer()
        bench.talk.taken(message)
        bench.write()
        await bench.until(message, Taken)
        moved = Book(bench.config, bench.session.session_id, "-elsewhere")
        bench.book.path.rename(moved.path)
        bench.change(cwd="/elsewhere")
        bench.talk.answer()
        moved.add(bench.talk)
        await bench.until(message, Taken, Seen)

    run(tmp_path, scene)


def test_after_clear_both_conversations_are_watched(tmp_path: Path) -> None:
    """What waited in the queue may come in either."""

    async def scene(bench: Bench) -> None:
        old, first, second = bench.book, bench.offer(), bench.offer()
        bench.talk.enqueue(first)
        bench.talk.enqueue(second)
        bench.write()
        before = bench.session.session_id
        bench.change(session_id=str(uuid.uuid4()))
        bench.talk.taken(first)
        bench.talk.answer()
        bench.write()
        await bench.until(first, Taken, Seen)
        bench.talk.taken(second)
        bench.talk.answer()
        old.add(bench.talk)
        await bench.until(second, Taken, Seen)
        seen = {e.id: ref.id for ref, e in bench.told if isinstance(e, Seen)}
        assert seen == {first: bench.session.session_id, second: before}

    run(tmp_path, scene)


def test_after_clear_a_taken_letter_is_ignored_by_the_new_conversation(
    tmp_path: Path,
) -> None:
    """It is to be offered again; a fork that copied it is not."""

    async def scene(bench: Bench) -> None:
        message = bench.offer()
        bench.talk.taken(message)
        copied = bench.talk.bytes()
        bench.write()
        await bench.until(message, Taken)
        bench.change(session_id=str(uuid.uuid4()))
        bench.book.write(copied)
        await bench.until(message, Taken, Taken)
        bench.change(session_id=str(uuid.uuid4()))
        bench.clock.now += 3
        await bench.until(message, Taken, Taken, Ignored)

    run(tmp_path, scene)


def test_a_letter_offered_again_starts_anew(tmp_path: Path) -> None:
    """What it left in an older conversation is not told of it any more."""

    async def scene(bench: Bench) -> None:
        message = bench.offer()
        bench.talk.taken(message)
        bench.write()
        await bench.until(message, Taken)
        bench.change(session_id=str(uuid.uuid4()))
        bench.told.clear()
        assert not bench.witness.taken_before(bench.session, message)
        bench.offer(message)
        await bench.control()
        assert bench.of(message) == []
        bench.talk.taken(message)
        bench.talk.answer()
        bench.write()
        await bench.until(message, Taken, Seen)
        assert {ref.id for ref, _ in bench.told} == {bench.session.session_id}

    run(tmp_path, scene)


def test_an_ignored_letter_is_told_when_the_session_is_at_rest(tmp_path: Path) -> None:
    """The channel works there: another letter was found by its id."""

    async def scene(bench: Bench) -> None:
        bench.book.write(b"{}\n")
        await bench.control()
        bench.change(status="busy")
        message = bench.offer()
        bench.clock.now += LONG
        await bench.control()
        assert bench.of(message) == []
        bench.change(status="idle")
        bench.clock.now += 6
        await bench.until(message, Ignored)
        assert bench.witness.proofs(bench.session) == BOTH

    run(tmp_path, scene)


def test_a_letter_that_a_clear_overtook_is_told_as_ignored(tmp_path: Path) -> None:
    """It names a conversation that is left, so the client drops it; the new one has no
    file yet.  The control: nothing is concluded where no letter was found before."""

    async def scene(bench: Bench) -> None:
        for found in (False, True):
            bench.book.write(b"{}\n")
            if found:
                await bench.control()
            message = bench.offer()
            bench.change(session_id=str(uuid.uuid4()))
            bench.clock.now += 6
            bench.change(status="idle")
            await bench.until(message, Ignored if found else NoProof)
            bench.witness.forget(bench.session.ref, message)

    run(tmp_path, scene)


def test_without_a_transcript_the_proofs_shrink(tmp_path: Path) -> None:
    """A turn came and went and left no file; said once, and of that session only."""

    async def scene(bench: Bench) -> None:
        assert bench.witness.proofs(bench.session) == BOTH
        message, second = bench.offer(), bench.offer()
        bench.change(status="busy")
        bench.clock.now += 1
        bench.change(status="idle")
        bench.clock.now += 6
        await bench.until(message, NoProof)
        await bench.until(second, NoProof)
        assert bench.witness.doubt(bench.session) is Doubt.NO_TRANSCRIPT
        assert bench.witness.proofs(bench.session) == {Rung.OFFERED}
        assert bench.witness.proofs(session(tmp_path)) == BOTH

    run(tmp_path, scene)


def test_a_format_without_ids_shrinks_the_proofs_until_one_is_found(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """And the log says so once, with the version."""

    async def scene(bench: Bench) -> None:
        message = bench.offer()
        bench.talk.said(f"Another Claude session sent:\n{tagged(message)}")
        bench.talk.answer()
        bench.write()
        bench.clock.now += 6
        await bench.until(message, NoProof)
        assert bench.witness.proofs(bench.session) == {Rung.OFFERED}
        assert bench.witness.doubt(bench.session) is Doubt.FORMAT
        again = bench.offer()
        bench.change(status="idle")
        await bench.control()
        assert bench.witness.proofs(bench.session) == BOTH
        bench.witness.forget(bench.session.ref, again)

    run(tmp_path, scene)
    lines = [r.getMessage() for r in caplog.records if "cannot be proven" in r.msg]
    assert len(lines) == 1
    assert "2.1.332" in lines[0]


def test_a_damaged_line_leaves_no_proof(tmp_path: Path) -> None:
    """A full disk cut it; what was glued to it is found all the same."""

    async def scene(bench: Bench) -> None:
        lost, found = bench.offer(), bench.offer()
        bench.talk.taken(lost)
        torn = bench.talk.bytes()[:200]
        bench.talk.lines.clear()
        bench.talk.taken(found)
        bench.book.write(torn)
        bench.write()
        await bench.until(found, Taken)
        bench.clock.now += 6
        bench.change(status="idle")
        await bench.until(lost, NoProof)
        assert bench.witness.proofs(bench.session) == BOTH

    run(tmp_path, scene)


def test_a_hook_and_a_failing_model_are_told(tmp_path: Path) -> None:
    """Blocked at once; failed when the session is at rest."""

    async def scene(bench: Bench) -> None:
        blocked, failed = bench.offer(), bench.offer()
        bench.change(status="busy")
        bench.talk.blocked(blocked)
        bench.talk.taken(failed)
        bench.talk.failed()
        bench.write()
        await bench.until(blocked, Blocked)
        await bench.until(failed, Taken)
        bench.change(status="idle")
        await bench.until(failed, Taken, ModelFailed)

    run(tmp_path, scene)


def test_a_dead_session_is_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its last lines may come after its death was noticed; then it is forgotten."""
    monkeypatch.setattr(inotify, "available", lambda: False)
    monkeypatch.setattr(witness, "NET", LONG)

    async def scene(bench: Bench) -> None:
        seen, queued = bench.offer(), bench.offer()
        ending = asyncio.ensure_future(bench.witness.finish(bench.session))
        await asyncio.sleep(0)
        bench.talk.taken(seen)
        bench.talk.enqueue(queued)
        for _ in range(3000):
            bench.talk.result("x" * 1000)
        bench.talk.answer()
        bench.write()
        bench.clock.now += 60
        await ending
        assert bench.of(seen) == [Taken, Seen]
        assert bench.of(queued) == []
        bench.talk.taken(queued)
        bench.write()
        await bench.witness.finish(bench.session)
        assert bench.of(queued) == []

    run(tmp_path, scene)


def test_the_end_of_a_reading_that_is_cancelled_leaves_nothing_open(
    tmp_path: Path,
) -> None:
    """A stop does not wait for it."""

    async def scene(bench: Bench) -> None:
        bench.book.write(b"{}\n")
        message = bench.offer()
        ending = asyncio.ensure_future(bench.witness.finish(bench.session))
        await asyncio.sleep(0)
        ending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await ending
        bench.talk.taken(message)
        bench.write()
        await bench.control()
        assert bench.of(message) == []

    run(tmp_path, scene)


def test_a_sink_that_calls_back_is_served(tmp_path: Path) -> None:
    """Whoever gets evidence may forget, offer and look at once."""

    async def scene(bench: Bench) -> None:
        first, second = new_id(), new_id()
        inner = bench.take

        def take(ref: SessionRef, evidence: Evidence) -> None:
            inner(ref, evidence)
            if evidence == Seen(first):
                bench.witness.forget(ref, first)
                bench.offer(second)

        bench.witness.close()
        bench.witness = ClaudeWitness(take, bench.clock)
        bench.offer(first)
        bench.talk.taken(first)
        bench.talk.answer()
        bench.write()
        await bench.until(first, Taken, Seen)
        bench.talk.taken(second)
        bench.talk.answer()
        bench.write()
        await bench.until(second, Taken, Seen)

    run(tmp_path, scene)


def test_a_record_without_a_conversation_is_watched_without_a_file(
    tmp_path: Path,
) -> None:
    """Nothing can be read, so nothing is proven."""

    async def scene(bench: Bench) -> None:
        bench.session = session(tmp_path, session_id="")
        message = bench.offer()
        bench.clock.now += 6
        await bench.until(message, NoProof)

    run(tmp_path, scene)


def test_the_file_is_searched_once_an_offer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A transcript may be 100 MB long."""
    searches: list[str] = []
    search = reading.taken_at

    def counted(path: str, message: MessageId, ours: witness.Maker) -> int | None:
        searches.append(message)
        return search(path, message, ours)

    monkeypatch.setattr(reading, "taken_at", counted)

    async def scene(bench: Bench) -> None:
        bench.book.write(b"{}\n")
        message = new_id()
        assert not bench.witness.taken_before(bench.session, message)
        bench.offer(message)
        bench.talk.taken(message)
        bench.talk.answer()
        bench.write()
        await bench.until(message, Taken, Seen)
        assert searches == [message]
        # A repeat may be taken in between: it is searched again.
        bench.witness.watch(bench.session, letter(message=message, repeat=True))
        bench.told.clear()
        await bench.until(message, Taken, Seen)
        assert searches == [message] * 2

    run(tmp_path, scene)


def test_a_session_of_another_start_is_another_process(tmp_path: Path) -> None:
    """Pids are used again."""

    async def scene(bench: Bench) -> None:
        message = bench.offer()
        later: Session = msgspec.structs.replace(bench.session, start="78")
        bench.witness.forget(later.ref, message)
        bench.witness.changed(later)
        await bench.witness.finish(later)
        bench.talk.taken(message)
        bench.write()
        await bench.until(message, Taken)

    run(tmp_path, scene)
