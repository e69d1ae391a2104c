"""Programs in seats."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from homi.address import Name
from homi.peers import process
from homi.seats.server import Opening, Server
from homi.spawn.programs import Means, Seated
from homi.spawn.state import Run, Spawned
from tests.standin.place import until


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_a_program_whose_seat_is_gone_is_told_to_end_and_may_be_gone_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when it ends between the look and the word."""
    child = subprocess.Popen(["sleep", "60"])
    run = Run(at=1.0, pid=child.pid, start=process.start_time(child.pid) or "")
    kill = os.kill

    def late(pid: int, number: int) -> None:
        kill(pid, number)
        raise ProcessLookupError

    monkeypatch.setattr(os, "kill", late)
    Seated(tmp_path).end(run, Means.HANG_UP)
    assert child.wait(60) < 0
    Seated(tmp_path).end(run, Means.HANG_UP)


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_a_program_that_ignores_every_word_is_killed_with_its_group(
    tmp_path: Path,
) -> None:
    """A word alone leaves it; who is not of its group is not touched."""
    deaf = "trap '' HUP TERM; sleep 60 & echo $!; wait; wait"
    argv = ["sh", "-c", deaf]
    with subprocess.Popen(
        argv, stdout=subprocess.PIPE, start_new_session=True, text=True
    ) as child:
        assert child.stdout is not None
        below = int(child.stdout.readline())
        start = process.start_time(child.pid) or ""
        run = Run(at=1.0, pid=child.pid, start=start)
        Seated(tmp_path).end(run, Means.HANG_UP)
        Seated(tmp_path).end(run, Means.ASK)
        assert process.alive(child.pid, start)
        Seated(tmp_path).end(run, Means.FORCE)
        assert child.wait(60) == -signal.SIGKILL
    until(lambda: process.start_time(below) is None, "its child is gone, too")


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_a_program_is_found_again_in_the_seat_of_its_own_name(tmp_path: Path) -> None:
    """A name may be called as the second seat of another."""
    server = Server.of(tmp_path)
    refs = {}
    try:
        for name in ("ada-seat2", "ada", "bob-seat3"):
            opening = Opening(name=name, argv=["sleep", "60"], cwd=str(tmp_path))
            refs[name] = server.spawn(opening, {"PATH": os.environ["PATH"]}).ref
        for name in ("ada", "ada-seat2", "bob"):
            spawned = Spawned(name=Name(name), client="claude", cwd=str(tmp_path))
            found = Seated(tmp_path).find(spawned, Run(at=1.0))
            assert found is not None
            assert found.seat == refs[{"bob": "bob-seat3"}.get(name, name)]
        none = Spawned(name=Name("ada-seat3"), client="claude", cwd=str(tmp_path))
        assert Seated(tmp_path).find(none, Run(at=1.0)) is None
    finally:
        for seat in server.seats():
            server.kill(seat)
    until(lambda: server.seats() == [], "no seat is left")
