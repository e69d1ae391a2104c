"""Programs in seats."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from homi.peers import process
from homi.spawn.programs import Seated
from homi.spawn.state import Run


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
    Seated(tmp_path).end(run)
    assert child.wait(10) < 0
    Seated(tmp_path).end(run)
