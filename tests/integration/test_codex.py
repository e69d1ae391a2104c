"""A real daemon, a name bound to a thread of a stand-in app server."""

import json
from collections.abc import Iterator

import pytest

from tests.standin.codex import AppServer, Conversation
from tests.standin.place import Place, until

TURN_END = "turn-end"


@pytest.fixture
def codex() -> Iterator[tuple[Place, AppServer]]:
    """A running homi beside an app server, svc claimed to write from."""
    with Place() as place:
        home = place.home / ".codex"
        home.mkdir()
        with AppServer(home) as server:
            place.start()
            place.ok("claim", "svc")
            yield place, server


def bound(place: Place, server: AppServer, auto: str | None) -> Conversation:
    """bob, bound to a thread that is open in the place's folder."""
    thread = server.open(str(place.work), auto=auto)
    done = place.json("codex", "peer", "bob", "--cwd", ".")
    assert (done["name"], done["thread"], done["fresh"]) == ("bob", thread.id, True)
    stands(place, thread)
    return thread


def stands(place: Place, thread: Conversation) -> None:
    """Wait until homi knows that it is open."""

    def so() -> bool:
        out = place.ok("legs", "bob", "--json").splitlines()
        rows = [json.loads(line) for line in out]
        return any((r.get("session") or {}).get("session") == thread.id for r in rows)

    until(so, "the thread owns bob", step=0.1)


def waits(place: Place, message: str, reason: str) -> None:
    """Wait until the queue shows that reason."""

    def so() -> bool:
        out = place.ok("queue", "bob", "--json").splitlines()
        rows = [json.loads(line) for line in out]
        return any((r["id"], r.get("reason")) == (message, reason) for r in rows)

    until(so, f"{message} waits for {reason}", step=0.1)


def test_mail_comes_as_turns_and_an_ask_is_answered(
    codex: tuple[Place, AppServer],
) -> None:
    """Offered, seen; the last words of the turn are the answer, and say that."""
    place, server = codex
    thread = bound(place, server, "forty-two")
    message = place.send("bob", "hello")
    place.reached("bob", message, "seen")
    answer = place.ok("ask", "--from", "svc", "--timeout", "60", "bob", "how many?")
    assert "forty-two" in answer
    line = place.stored("svc", "forty-two")
    assert line["msg"]["tags"] == [TURN_END]
    row = place.json("codex", "ls")
    assert (row["thread"], row["name"]) == (thread.id, "bob")
    row = place.json("legs", "bob")
    assert (row["leg"], row["usable"]) == ("codex", True)


def test_a_closed_thread_holds_its_mail_and_gives_it_up(
    codex: tuple[Place, AppServer],
) -> None:
    """What waits in its queue is taken back; each reason is shown."""
    place, server = codex
    thread = bound(place, server, None)
    server.become(thread, "active")
    message = place.send("bob", "hello")
    until(lambda: thread.rows, "it is queued")
    server.unload(thread)
    waits(place, message, "not-loaded")
    assert thread.rows == []
    server.down()
    until(lambda: "unreachable" in place.ok("ls"), "its Codex is gone", step=0.1)
    server.up()
    thread.auto = "ACK"
    server.become(thread, "idle")
    place.reached("bob", message, "seen", 60)
    texts = [item["item"].get("clientId") for item in thread.items]
    assert texts.count(message) == 1


def test_a_killed_daemon_queues_nothing_twice(codex: tuple[Place, AppServer]) -> None:
    """Killed after the letter was added and before that was known, and again while
    it waits behind a turn."""
    place, server = codex
    thread = bound(place, server, None)
    server.become(thread, "active")
    server.mute.add("thread/queue/add")
    message = place.send("bob", "hello")
    until(lambda: thread.rows, "it is queued")
    place.kill()
    server.mute.clear()
    place.start()
    stands(place, thread)
    place.reached("bob", message, "offered")
    place.kill()
    place.start()
    stands(place, thread)
    server.become(thread, "idle")
    until(lambda: thread.turns, "it is a turn")
    server.finish(thread, "completed", "done")
    place.reached("bob", message, "seen", 60)
    assert server.asked("thread/queue/add") == 1


def test_what_cannot_be_bound_is_refused(codex: tuple[Place, AppServer]) -> None:
    """Several in a folder, none, no UUID, a thread of another name."""
    place, server = codex
    thread = bound(place, server, "ACK")
    assert place.homi("codex", "peer", "eve").returncode == 64
    assert place.homi("codex", "peer", "eve", "--thread", "title").returncode == 64
    done = place.homi("codex", "peer", "eve", "--thread", thread.id)
    assert done.returncode == 73
    other = server.open(str(place.work))
    done = place.homi("codex", "peer", "eve", "--cwd", ".")
    assert done.returncode == 64
    assert thread.id in done.stderr
    assert other.id in done.stderr
    assert place.homi("codex", "peer", "eve", "--cwd", "/").returncode == 66
    gone = "0190aaaa-bbbb-7ccc-8ddd-eeeeeeeeeee1"
    assert place.homi("codex", "peer", "eve", "--thread", gone).returncode == 66
    assert place.ok("codex", "unpeer", "bob").startswith("bob is no thread any more")
    assert place.homi("codex", "unpeer", "bob").returncode == 66
    server.down()
    assert place.homi("codex", "ls").returncode == 69
    done = place.homi("codex", "peer", "eve", "--thread", gone)
    assert done.returncode == 0
    assert "mail waits" in done.stderr
