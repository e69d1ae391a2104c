"""Which threads can be reached, and how each is."""

import os
from collections.abc import Callable

import pytest

from homi.envelope import MessageId, Reason
from tests.standin.codex import writes
from tests.unit.codex.place import BOB, Post, until

Play = Callable[..., None]


def test_a_bound_thread_stands_and_its_status_is_told(play: Play) -> None:
    """Idle, busy, and waiting for a person."""

    async def scene(post: Post) -> None:
        session = await post.stands(status="idle", entrypoint="app-server")
        assert (session.client, session.session_id) == ("codex", post.thread.id)
        assert post.watch.why(BOB) is None
        post.codex.become(post.thread, "active")
        await post.stands(status="busy")
        post.codex.become(post.thread, "active", "waitingOnUserInput")
        await post.stands(status="waiting", waiting_for="waitingOnUserInput")
        post.codex.become(post.thread, "systemError")
        await post.stands(status="idle")

    play(scene)


def test_a_thread_that_is_not_loaded_falls_and_stands_again(play: Play) -> None:
    """Closed and opened again by its person."""

    async def scene(post: Post) -> None:
        await post.stands()
        post.codex.unload(post.thread)
        await post.fell()
        await until(lambda: post.watch.why(BOB) is Reason.NOT_LOADED)
        post.codex.become(post.thread, "idle")
        await post.stands()
        assert post.watch.why(BOB) is None

    play(scene)


def test_a_server_that_is_gone_is_found_again(play: Play) -> None:
    """It is another process then, on the same socket."""

    async def scene(post: Post) -> None:
        await post.stands()
        post.codex.down()
        await post.fell()
        assert post.watch.why(BOB) is Reason.UNREACHABLE
        post.codex.up()
        await post.stands()

    play(scene)


def test_what_is_queued_for_a_thread_nobody_has_open_is_taken_back(play: Play) -> None:
    """Ours alone: a row of the person's own stays."""

    async def scene(post: Post) -> None:
        await post.stands()
        post.codex.become(post.thread, "active")
        ours, theirs = MessageId("ours"), MessageId("theirs")
        post.ours.add(ours)
        server = post.servers.of(str(post.codex.home))
        await server.add(post.thread.id, ours, "x")
        await server.add(post.thread.id, theirs, "y")
        post.codex.unload(post.thread)
        await post.fell()
        assert post.back == [ours]
        (row,) = await server.rows(post.thread.id)
        assert row.client_user_message_id == theirs

    play(scene)


def test_a_name_bound_to_another_thread_leaves_the_first(play: Play) -> None:
    """One name, one thread; a released one has none."""

    async def scene(post: Post) -> None:
        first = await post.stands()
        post.thread = post.codex.open()
        post.bind()
        await post.stands()
        assert post.sessions.by_ref(first.ref) is None
        post.names.embody(BOB, None)
        await post.fell()
        assert post.watch.why(BOB) is None

    play(scene)


def test_a_thread_with_a_server_of_its_own_is_reached_beside(play: Play) -> None:
    """Whoever holds its lock has it; a command that runs one turn takes no mail."""

    async def scene(post: Post) -> None:
        await post.stands()
        post.codex.down()
        await post.fell()
        fd = writes(post.codex.home, post.thread.id)
        await post.stands(entrypoint="queue", status="")
        os.close(fd)
        await post.fell()
        post.codex.up()
        await post.stands(entrypoint="app-server")

    play(scene)


def test_mail_is_not_queued_for_a_single_turn(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a codex exec finds in its queue as it ends is lost."""

    async def scene(post: Post) -> None:
        await post.stands()
        fd = writes(post.codex.home, post.thread.id)
        post.codex.down()
        await post.stands(entrypoint="queue")
        monkeypatch.setattr(
            "homi.peers.process.system.arguments", lambda _pid: [b"codex", b"exec"]
        )
        await post.fell()
        os.close(fd)

    play(scene)
