"""Letters into the queue of a thread, and what its history proves of them."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from homi.envelope import Kind, Reason, Rung
from homi.legs.base import (
    Deferred,
    Held,
    Ignored,
    NoProof,
    Offered,
    Receipt,
    Seen,
    Stopped,
    Taken,
    Waiting,
)
from homi.legs.codex import CONTENT_MAX
from tests.standin.codex import writes
from tests.unit.codex.place import Post, again, until
from tests.unit.legs.lines import letter

Play = Callable[..., None]


def test_a_letter_becomes_a_turn_and_is_seen_at_its_end(play: Play) -> None:
    """Under its own id, with the one first line."""

    async def scene(post: Post) -> None:
        message = await post.give("is it green?")
        await post.hears(Seen(message))
        assert post.told == [Taken(message), Seen(message)]
        (user, _) = post.thread.items
        text = user["item"]["content"][0]["text"]
        assert text.startswith(f"[homi {message} from alice for bob; ")
        assert text.endswith("\n> is it green?")
        assert post.answers == []
        assert post.leg.proofs(await post.stands()) == {Rung.OFFERED, Rung.SEEN}

    play(scene)


def test_a_busy_thread_takes_it_after_its_turn(play: Play) -> None:
    """It waits in the queue; that is offered, and no pause."""

    async def scene(post: Post) -> None:
        post.codex.become(post.thread, "active")
        message = await post.give()
        await post.hears(Receipt(message, "delivered"))
        post.clock.more += 100.0
        post.codex.become(post.thread, "idle")
        await post.hears(Taken(message))
        post.codex.finish(post.thread, "completed", "done")
        await post.hears(Seen(message))
        assert Waiting(message) not in post.told

    play(scene, auto=None)


def test_what_a_person_stopped_waits_until_they_go_on(play: Play) -> None:
    """At rest with a letter in the queue: kept there, and never started by homi."""

    async def scene(post: Post) -> None:
        post.thread.paused = True
        message = await post.give()
        await post.hears(Receipt(message, "delivered"))
        post.clock.more += 10.0
        await post.hears(Waiting(message))
        post.thread.paused = False
        post.codex.do(lambda: None)
        await post.hears(Seen(message))
        assert post.codex.asked("thread/queue/add") == 1

    play(scene)


def test_a_failed_or_interrupted_turn_is_told_once_and_nothing_is_sent_again(
    play: Play,
) -> None:
    """The text is in the history: what the next turn is made of."""

    async def scene(post: Post) -> None:
        message = await post.give()
        await post.hears(Taken(message))
        post.codex.finish(post.thread, "failed")
        await post.hears(Stopped(message, Reason.MODEL_UNAVAILABLE))
        second = await post.give()
        await post.hears(Taken(second))
        post.codex.finish(post.thread, "interrupted")
        await post.hears(Stopped(second, Reason.INTERRUPTED))
        post.clock.more += 100.0
        post.thread.paused = False
        third = await post.give()
        await post.hears(Taken(third))
        post.codex.finish(post.thread, "completed", "now")
        for each in (message, second, third):
            await post.hears(Seen(each))
            assert post.told.count(Taken(each)) == 1
        assert post.codex.asked("thread/queue/add") == 3

    play(scene, auto=None)


def test_the_last_words_of_a_turn_answer_an_ask(play: Play) -> None:
    """Of a letter they are nobody's; an empty turn gives none."""

    async def scene(post: Post) -> None:
        ask = await post.give("how many?", kind=Kind.ASK)
        await post.hears(Seen(ask))
        assert post.answers == ["forty-two"]
        assert "the last words of this turn" in str(post.thread.items[0])
        post.thread.auto = " "
        blank = await post.give("and now?", kind=Kind.ASK)
        await post.hears(Seen(blank))
        await post.hears(Seen(await post.give("a letter")))
        assert post.answers == ["forty-two"]

    play(scene, auto="forty-two")


def test_a_letter_that_is_there_is_not_added_again(play: Play) -> None:
    """An earlier run of homi may have done it: in the queue, or in the history."""

    async def scene(post: Post) -> None:
        sent = letter()
        post.thread.paused = True
        for _ in range(2):
            assert await post.offer(sent) == Offered()
        post.thread.paused = False
        post.codex.do(lambda: None)
        await post.hears(Seen(sent.msg.id))
        assert await post.offer(again(sent, repeat=True)) == Offered()
        assert post.codex.asked("thread/queue/add") == 1
        assert await post.offer(again(sent, repeat=True, again=True)) == Offered()
        assert post.codex.asked("thread/queue/add") == 2

    play(scene)


def test_what_is_in_neither_place_is_lost_only_after_a_while(play: Play) -> None:
    """Between the queue and the history there is a moment."""

    async def scene(post: Post) -> None:
        post.thread.gap = True
        first = await post.give()
        await until(lambda: post.codex.asked("thread/turns/list") > 3)
        assert post.told == []
        post.codex.appear(post.thread)
        await post.hears(Seen(first))
        post.thread.gap = True
        second = await post.give()
        await until(lambda: post.codex.asked("thread/queue/list") > 12)
        post.clock.more += 31.0
        await post.hears(Ignored(second))

    play(scene)


def test_no_answer_to_the_adding_is_unclear(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be there: the next look says so."""
    monkeypatch.setattr("homi.codex.wire.CALL_LIMIT", 0.2)

    async def scene(post: Post) -> None:
        session = await post.stands()
        post.codex.mute.add("thread/queue/add")
        sent = letter()
        post.witness.watch(session, sent)
        outcome = await post.leg.offer(sent, session)
        assert isinstance(outcome, Deferred)
        assert outcome.unclear
        post.witness.changed(session)
        await post.hears(Seen(sent.msg.id))

    play(scene)


def test_a_thread_that_nobody_has_open_is_not_written_to(play: Play) -> None:
    """What is queued then would run later, unseen; a dead server is tried later."""

    async def scene(post: Post) -> None:
        session = await post.stands()
        post.thread.status = "notLoaded"
        assert await post.leg.offer(letter(), session) == Held(Reason.NOT_LOADED)
        post.codex.down()
        outcome = await post.leg.offer(letter(), session)
        assert isinstance(outcome, Deferred)
        assert not outcome.unclear
        assert post.codex.asked("thread/queue/add") == 0

    play(scene)


def test_a_letter_that_ended_is_taken_out_of_the_queue(play: Play) -> None:
    """Cancelled, dropped, or read in another way."""

    async def scene(post: Post) -> None:
        post.thread.paused = True
        message = await post.give()
        other = await post.give()
        await post.hears(Receipt(message, "delivered"))
        session = await post.stands()
        post.witness.forget(session.ref, message)
        await until(lambda: len(post.thread.rows) == 1)
        assert post.thread.rows[0]["clientUserMessageId"] == other

    play(scene)


def test_the_last_look_tells_what_was_read(play: Play) -> None:
    """The thread is closed right after its turn."""

    async def scene(post: Post) -> None:
        session = await post.stands()
        sent = letter()
        post.witness.watch(session, sent)
        await post.leg.offer(sent, session)
        await post.witness.finish(session)
        assert post.told == [Taken(sent.msg.id), Seen(sent.msg.id)]

    play(scene)


def test_a_long_letter_is_told_of_by_its_head(play: Play) -> None:
    """A long text freezes the screen of the person at the thread."""

    async def scene(post: Post) -> None:
        message = await post.give("x" * 20_000)
        await post.hears(Seen(message))
        text = post.thread.items[0]["item"]["content"][0]["text"]
        assert len(text) < CONTENT_MAX
        assert f"homi read {message}" in text

    play(scene)


def program(path: Path, status: int = 0) -> str:
    """A command that keeps what it was called with."""
    path.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$CODEX_HOME" "$@" >>"{path}.called"\n'
        f"echo no such thread >&2\nexit {status}\n"
    )
    path.chmod(0o700)
    return str(path)


def test_without_a_server_the_client_itself_keeps_it(
    play: Play, tmp_path: Path
) -> None:
    """That proves nothing more; what it refuses is tried again."""

    async def scene(post: Post) -> None:
        await post.stands()
        post.codex.down()
        fd = writes(post.codex.home, post.thread.id)
        session = await post.stands(entrypoint="queue")
        post.bind(program=program(tmp_path / "queue"))
        message = await post.give("$(touch /tmp/x); --help")
        await post.hears(NoProof(message))
        called = (tmp_path / "queue.called").read_text().splitlines()
        home = str(post.codex.home)
        assert called[:4] == [home, "queue", "--thread", post.thread.id]
        assert called[4].startswith(f"--message=[homi {message} from ")
        assert called[5] == "> $(touch /tmp/x); --help"
        assert post.leg.proofs(session) == {Rung.OFFERED}
        post.bind(program=program(tmp_path / "no", 1))
        assert isinstance(await post.leg.offer(letter(), session), Deferred)
        post.bind(program=str(tmp_path / "none"))
        assert isinstance(await post.leg.offer(letter(), session), Deferred)
        os.close(fd)

    play(scene)


def test_a_version_without_the_queue_is_written_to_by_its_command(
    play: Play, tmp_path: Path
) -> None:
    """What a server does not know it says, and nothing was done."""

    async def scene(post: Post) -> None:
        session = await post.stands()
        post.bind(program=program(tmp_path / "queue"))
        post.codex.unknown.add("thread/queue/add")
        assert await post.leg.offer(letter(), session) == Offered()
        assert (tmp_path / "queue.called").exists()

    play(scene)
