"""What stands in for /proc says the same as /proc, where both are at hand."""

import os
import signal
import subprocess
import time

from homi.peers import elsewhere, process
from tests.unit.sessions.place import on_terminal


def test_it_agrees_with_proc_on_a_live_process() -> None:
    """Two ways of asking, one answer."""
    with on_terminal(CLAUDECODE="1") as pid:
        assert elsewhere.parent(pid) == process.ancestors(pid)[1] == os.getpid()
        assert elsewhere.has_terminal(pid) is process.has_terminal(pid) is True
        assert elsewhere.environ(pid) is not None
        assert b"CLAUDECODE=1" in (elsewhere.environ(pid) or b"").split(b"\0")
        start = elsewhere.start_time(pid)
        assert start is not None
        begun = time.mktime(time.strptime(start))
        assert abs(time.time() - begun) < 60


def test_a_zombie_and_a_vanished_process_are_answers() -> None:
    """As with /proc, nothing here raises."""
    child = subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL)
    assert elsewhere.start_time(child.pid) is not None
    child.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert elsewhere.start_time(child.pid) is None
    child.wait()
    for pid in (child.pid, -1, 2**22 + 5):
        assert elsewhere.start_time(pid) is None
        assert elsewhere.parent(pid) is None
        assert elsewhere.environ(pid) is None
        assert not elsewhere.has_terminal(pid)
