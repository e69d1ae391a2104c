"""Wakes with a real daemon: what a session gets, and what lets one fire."""

import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from homi.seats.server import Server
from tests.integration.seatkit import needs_tmux
from tests.standin.driver import ROOT
from tests.standin.place import Place, homi_command, until


@pytest.fixture
def place() -> Iterator[Place]:
    """A daemon with two names."""
    with Place() as made:
        made.start()
        for name in ("ada", "ci"):
            made.ok("claim", name)
        yield made


def add(place: Place, *words: str) -> None:
    place.ok("wake", "add", "--from", "ci", *words)


def text(place: Place, begin: str) -> list[str]:
    """The lines of the envelope that begins so, once it is there."""

    def found() -> list[str] | None:
        texts = [line["msg"]["text"] for line in place.lines("ada")]
        return next((t.splitlines() for t in texts if t.startswith(begin)), None)

    lines = until(found, f"an envelope {begin}")
    assert lines
    return lines


def test_a_session_is_woken_and_whoever_asked_for_it_gets_its_answer(
    place: Place,
) -> None:
    """One that it made itself needs none; both say what they are."""
    with place.session("ada", "--auto") as ada:
        until(lambda: place.json("ls", "--no-probe")[0]["owner"], "ada is owned")
        add(place, "ada", "--at", "+1s", "is the build green?")
        ada.tool(*homi_command(), "wake", "add", "self", "--at", "+1s", "look again")
        turn = ada.letter("is the build green?")["text"]
        head, *body = turn.splitlines()
        assert " from unverified, claims to be ci for ada, wake; " in head
        assert body[0] == "> is the build green?"
        assert body[-1].startswith("> slot: ")
        message = head.split()[1]
        ada.tool(*homi_command(), "reply", message, "it is")
        until(
            lambda: [x for x in place.lines("ci") if x["msg"]["text"] == "it is"], "it"
        )
        own = ada.letter("look again")["text"].splitlines()[0]
        assert " from ada for ada, wake; automatic, nobody reads a reply]" in own


@needs_tmux
def test_files_a_seat_and_a_repository_let_one_fire(place: Place) -> None:
    """Each with what is known of it; a name that would begin a line does not."""
    folder = place.run / "in"
    folder.mkdir()
    (folder / "old.csv").write_text("")
    add(place, "ada", "--on-file", f"{folder}/*.csv", "--overlap", "queue", "a file")
    (folder / "new\nslot: x.csv").write_text("1")
    place.ok("seat", "spawn", "build", "--", "sh", "-c", "read line; exit 3")
    add(place, "ada", "--on-exit", "build", "--overlap", "queue", "it ended")
    seats = Server.of(place.state)
    pane = seats.find("build").pane.id
    seats.tmux.ask(("send-keys", "-t", pane, "Enter"))
    assert "status: 3" in text(place, "it ended")
    lines = text(place, "a file")
    assert f"file: {folder}/new\\nslot: x.csv" in lines
    assert not [line for line in lines if line.startswith("slot: ")]

    def noted() -> bool:
        rows = {
            row["trigger"].split()[0]: row for row in place.json("wake", "ls", "--json")
        }
        return (rows["on-exit"]["state"], rows["on-file"]["fired"]) == ("done", 1)

    until(noted, "what became of both is noted behind the letters")
    place.ok("seat", "kill", "build")


def test_a_repository_is_asked_by_gh(place: Place) -> None:
    """First what is there, then what is new; found in the daemon's own PATH."""
    place.stop()
    folder = place.run / "bin"
    folder.mkdir()
    tell(folder, "[]")
    place.start(PATH=f"{folder}:/usr/bin:/bin")
    add(place, "ada", "--on-pr", "cli/cli", "look at it")
    row = place.json("wake", "ls", "--json")
    assert (row["state"], row["failure"]) == ("on", "")
    tell(folder, '[{"number":7,"title":"a\\nslot: x","headRefOid":"aa"}]')
    place.stop()
    place.start(PATH=f"{folder}:/usr/bin:/bin")
    lines = text(place, "look at it")
    assert lines[4:6] == ["pr: #7", "title: a\\nslot: x"]


def test_a_line_of_cron_sends_once_however_often_it_runs(place: Place) -> None:
    """As it stands in contrib, by the shell that cron gives it to."""
    lines = (ROOT / "contrib/cron/crontab").read_text().splitlines()
    command = lines[-1].split(maxsplit=5)[5].replace("\\%", "%")
    program = place.run / "homi"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m homi "$@"\n')
    program.chmod(0o755)
    env = place.env(PATH=f"{place.run}:/usr/bin:/bin", PYTHONPATH=str(ROOT))
    for _ in range(2):
        subprocess.run(["/bin/sh", "-c", command], env=env, check=True, timeout=60)
    assert len(place.lines("ada")) == 1


def tell(folder: Path, out: str) -> None:
    """Let a gh stand in folder that says so."""
    (folder / "out").write_text(out)
    program = folder / "gh"
    program.write_text(f'#!/bin/sh\nexec cat "{folder}/out"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
