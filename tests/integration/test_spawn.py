"""Agents that a real daemon starts in real seats, as the program claude of the PATH."""

import contextlib
import json
import os
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from homi.connection import Connection
from homi.errors import Usage
from homi.orders.spawn import Spawn
from homi.seats.server import Server
from homi.spawned import SpawnRow
from tests.integration.seatkit import needs_tmux
from tests.standin import claude
from tests.standin.place import Place, homi_command, until

pytestmark = needs_tmux


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    """A daemon, and a claude; every seat is closed before the place is."""
    with opened() as made:
        yield made


@contextlib.contextmanager
def opened() -> Iterator[Place]:
    """Such a place."""
    with Place() as made:
        claude.install(made.bin)
        made.start()
        made.ok("claim", "svc")
        try:
            yield made
        finally:
            server = Server.of(made.state)
            for seat in server.seats():
                with contextlib.suppress(Exception):
                    server.kill(seat)
            until(lambda: server.seats() == [], "no seat is left")


def state(place: Place, name: str) -> dict[str, object]:
    """What is listed of one name."""
    return dict(next(row for row in _rows(place, "spawn") if row["name"] == name))


def seats(place: Place, name: str) -> int:
    """How many seats are open whose name begins so."""
    every = Server.of(place.state).seats()
    return sum(seat.name.startswith(name) for seat in every)


def _rows(place: Place, verb: str) -> list[dict[str, Any]]:
    """A listing, an object a line."""
    return [json.loads(line) for line in place.ok(verb, "--json").splitlines()]


def test_mail_starts_an_agent_once_though_the_daemon_dies_meanwhile(
    place: Place,
) -> None:
    """Its program outlives the daemon, is found again and has the mail."""
    place.ok("spawn", "ada", "--on-mail")
    message = place.send("ada", "come")
    until(lambda: state(place, "ada").get("started"), "it is being started")
    place.kill()
    place.start()
    place.reached("ada", message, "seen")
    row = until(
        lambda: (r := state(place, "ada"))["state"] == "ready" and r, "it is ready"
    )
    assert row["starts"] == 1
    assert seats(place, "ada") == 1
    # It takes what comes whatever its sender may do: of that process alone.
    line = Path(f"/proc/{row['pid']}/cmdline").read_bytes()
    assert b'{"crossSessionInbound":"accept"}' in line


def test_mail_for_one_that_ends_at_once_waits_for_the_next_try(place: Place) -> None:
    """Until when is shown in the queue."""
    place.ok("spawn", "bob", "--on-mail", "--", "--exit", "3")
    message = place.send("bob", "come")
    until(lambda: state(place, "bob")["failures"] == 1, "it failed")
    row = next(r for r in _rows(place, "queue") if r["id"] == message)
    assert (row["reason"], bool(row["until"])) == ("no-owner", True)


def test_an_order_that_is_longer_than_an_id_starts_nothing(place: Place) -> None:
    """It is kept in a state file; asked again with one, nothing starts twice."""
    with Connection(place.state) as client:
        long, sound = (
            Spawn(i=1, name="eli", cwd=str(place.work), on_mail=True, order="x" * many)
            for many in (65, 64)
        )
        with pytest.raises(Usage, match="at most 64"):
            client.call(long, SpawnRow)
        assert "eli" not in [row["name"] for row in _rows(place, "spawn")]
        assert client.call(sound, SpawnRow) == client.call(sound, SpawnRow)


def test_a_letter_that_is_kept_from_an_agent_is_no_failure_of_its(
    place: Place,
) -> None:
    """It ended soon, and with nothing left that it could have read; nor does one that
    must wait for the other start it."""
    place.ok("claim", "cyd")
    place.ok("queue", "hold", place.send("cyd", "not yet"))
    place.ok("spawn", "cyd", "--on-mail")
    place.send("cyd", "behind it")
    assert state(place, "cyd")["starts"] == 0
    place.ok("claim", "dan")
    place.reached("cyd", place.send("cyd", "this", sender="dan"), "seen")
    server = Server.of(place.state)
    server.kill(server.find("cyd"))
    row = until(
        lambda: (r := state(place, "cyd"))["state"] == "waiting" and r, "it ended"
    )
    assert (row["starts"], row["failures"]) == (1, 0)


def test_a_consultation_prints_the_answer_and_leaves_nothing(place: Place) -> None:
    out = place.ok("consult", "--from", "svc", "which?", "--", "--reply", "the ring")
    assert out == "the ring\n"
    until(lambda: not seats(place, "consult"), "its seat is closed")
    until(lambda: "consult" not in place.ok("ls"), "its name is let go")


def test_an_agent_has_a_worktree_of_its_own_that_stays(place: Place) -> None:
    repository = place.work / "app"
    repository.mkdir()
    git = ["git", "-C", str(repository), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    place.ok("spawn", "fix", "--worktree", "--cwd", str(repository))
    tree = place.state / "trees" / "app" / "fix"
    assert os.readlink(f"/proc/{state(place, 'fix')['pid']}/cwd") == str(tree)
    (tree / "work").write_text("half done")
    done = place.homi("unspawn", "--end", "fix")
    assert str(tree) in done.stderr
    assert (tree / "work").read_text() == "half done"
    until(lambda: not seats(place, "fix"), "it ended")
    place.ok("spawn", "fix", "--worktree", "--cwd", str(repository))
    assert state(place, "fix")["tree"] == str(tree)


def test_a_running_session_is_adopted_and_keeps_its_process(place: Place) -> None:
    """A name that another session has is not given away."""
    one, two = place.session("one"), place.session("two")
    done = place.json("adopt", "mia", "--session", one.session_id)
    assert (done["pid"], done["was"], done["fresh"]) == (one.pid, "one", True)
    message = place.send("mia", "hello")
    place.reached("mia", message, "offered")
    taken = place.homi("adopt", "mia", "--session", two.session_id)
    assert taken.returncode == 73
    assert str(one.pid) in taken.stderr


def test_agents_that_start_agents_stop_at_a_depth_and_at_a_count() -> None:
    """One that starts itself without end comes three deep; one that starts many has
    eight.  Neither need say who it is."""
    with opened() as place:  # so many starts would let the mail of others wait
        _deep_and_wide(place)


def _deep_and_wide(place: Place) -> None:
    """The two of them."""
    homi = shlex.join(homi_command())
    again = f'{homi} spawn "$NAME"x -- --then "$THEN" 2>>refused'
    place.ok("spawn", "deep", "--", "--then", again)
    assert "deepxx was started by an agent 3 deep" in told(place.work / "refused")
    assert seats(place, "deep") == 3
    codex = place.bin / "codex"
    codex.write_text("#!/bin/sh\nexec sleep 60\n")
    codex.chmod(0o755)
    many = f"{homi} fan 10 wide --cli codex --timeout 0 2>fanned; echo done >>fanned"
    place.ok("spawn", "mother", "--", "--then", many)
    fanned = told(place.work / "fanned", "done")
    assert fanned.count("8 agents run that mother started") == 2
    until(lambda: seats(place, "wide") == 8, "their seats are open")


def told(file: Path, word: str = "\n") -> str:
    """What was written to that file, once the word is in it."""
    return until(
        lambda: file.exists() and word in (t := file.read_text()) and t, f"{word} there"
    )
