"""What the system says about processes, asked of real ones."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from homi.peers import process
from tests.standin import registry
from tests.standin.place import until
from tests.unit.sessions.place import on_terminal

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc")


def _child(*extra: str, **variables: str) -> subprocess.Popen[bytes]:
    env = {"PATH": os.environ.get("PATH", "/bin:/usr/bin"), **variables}
    return subprocess.Popen([*extra, "sleep", "600"], env=env, stdin=subprocess.DEVNULL)


def _end(child: subprocess.Popen[bytes]) -> None:
    child.kill()
    child.wait()


@linux
def test_start_time_is_field_22_whatever_the_process_is_called() -> None:
    """A name with blanks and parentheses must not shift the fields."""
    script = "import ctypes; ctypes.CDLL(None).prctl(15, b') S 1 (', 0, 0, 0)"
    child = subprocess.Popen(
        [sys.executable, "-c", f"{script}; print(flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert child.stdout is not None
        child.stdout.readline()
        with open(f"/proc/{child.pid}/stat", "rb") as file:
            raw = file.read()
        assert b"() S 1 ()" in raw
        assert process.start_time(child.pid) == raw.split()[21 + 3].decode()
        assert process.ancestors(child.pid)[1] == os.getpid()
    finally:
        _end(child)
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.close()
        child.stdout.close()


def test_a_zombie_has_ended() -> None:
    """A killed session stays in the table until its parent looks."""
    child = _child()
    start = process.start_time(child.pid)
    assert start is not None
    assert process.alive(child.pid, start)
    child.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not process.alive(child.pid, start)
    assert process.start_time(child.pid) is None
    child.wait()
    assert process.start_time(child.pid) is None


def test_the_pid_of_another_start_is_not_alive() -> None:
    """A reused pid is another process."""
    mine = process.start_time(os.getpid())
    assert mine is not None
    assert process.alive(os.getpid(), mine)
    assert not process.alive(os.getpid(), mine + "0")


@pytest.mark.parametrize("pid", [0, -1, 2**22 + 1, 10**12])
def test_a_pid_that_cannot_be_is_an_answer_not_an_error(pid: int) -> None:
    """Numbers in file names come from anywhere."""
    assert process.start_time(pid) is None
    assert process.ancestors(pid) == [pid]
    assert not process.has_terminal(pid)
    assert process.agent_variables(pid) is None


def test_ancestors_go_up_from_the_process_itself() -> None:
    """pid first, then its parents, to the first process."""
    child = _child()
    try:
        chain = process.ancestors(child.pid)
        assert chain[:3] == [child.pid, os.getpid(), os.getppid()]
        assert len(chain) == len(set(chain))
    finally:
        _end(child)


@pytest.mark.parametrize("variable", ["CLAUDECODE", "CODEX_THREAD_ID"])
def test_an_agents_variable_tells_and_a_likeness_does_not(variable: str) -> None:
    """Only the exact variable counts; a value that holds its name does not."""
    agent = _child(**{variable: "1"})
    plain = _child(**{f"NOT_{variable}": "1", "NOTE": f"{variable}=1"})
    try:
        for child in (agent, plain):
            # Its environment reads as empty until the end of its exec.
            until(lambda pid=child.pid: process.agent_variables(pid) is not None, "up")
        assert process.agent_variables(agent.pid) is True
        assert process.agent_variables(plain.pid) is False
    finally:
        _end(agent)
        _end(plain)


def test_a_process_of_a_new_session_has_no_terminal() -> None:
    """setsid gives the terminal up; script(1) would give one."""
    child = _child("setsid")
    try:
        assert not process.has_terminal(child.pid)
    finally:
        _end(child)


def test_a_process_on_a_terminal_has_one() -> None:
    """The positive control, on a pseudo-terminal."""
    with on_terminal() as pid:
        assert process.has_terminal(pid)


@linux
def test_the_pid_domain_names_machine_and_namespace() -> None:
    """The text sessions of this machine write."""
    assert process.pid_domain().startswith("linux:")
    assert process.pid_domain().endswith(os.readlink("/proc/self/ns/pid"))


def test_on_a_machine_without_an_id_the_place_of_it_is_empty(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As in a container; the sessions there write the same, and so are ours."""
    with_id = process.pid_domain()
    reads = Path.read_text

    def read(path: Path, *how: str) -> str:
        if path == Path("/etc/machine-id"):
            raise FileNotFoundError(path)
        return reads(path, *how)

    monkeypatch.setattr(Path, "read_text", read)
    assert process.pid_domain() == f"linux::{os.readlink('/proc/self/ns/pid')}"
    assert process.pid_domain() == registry.pid_domain()
    monkeypatch.undo()
    assert process.pid_domain() == registry.pid_domain() == with_id
