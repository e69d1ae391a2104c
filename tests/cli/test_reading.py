"""What reading must not do: record what was not shown, show what was not asked for."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.standin.place import Place, until

SECRET = "swordfish-7731"


def test_a_reader_killed_before_the_text_was_out_has_seen_nothing() -> None:
    """The record comes after the flush; the control: a reader that ends has seen it."""
    with Place() as place:
        place.start()
        place.ok("claim", "bob")
        place.ok("send", "--from", "bob", "owner", given="x" * 500_000)
        (message,) = (line["msg"]["id"] for line in place.lines("owner"))
        read = _person(place, "read", message)
        # The pipe is full before the text is out: the reader stands in its write.
        until(lambda: _blocked_in_write(read.pid), "the reader is at it")
        os.kill(read.pid, signal.SIGKILL)
        read.wait(15)
        assert read.stdout is not None
        read.stdout.close()
        assert place.rungs("owner", message) == []
        second = _person(place, "read", message)
        out, _ = second.communicate(timeout=30)
        assert len(out) == 500_000
        assert place.rungs("owner", message) == ["seen"]


def test_no_text_of_a_message_leaves_its_mailbox_but_by_read() -> None:
    """Listings, traces, status, errors and logs tell about mail, not what it says."""
    with Place() as place:
        place.ok("start")
        for name in ("ada", "bob"):
            place.ok("claim", name)
        sent = place.ok("send", "--from", "bob", "ada", SECRET).split()[1]
        refused = place.homi("send", "--from", "bob", "adda", SECRET)
        assert refused.returncode == 67
        shown = refused.stdout + refused.stderr
        for argv in (["ls"], ["queue"], ["inbox", "ada"], ["trace", sent], ["status"]):
            for form in ([], ["--json"]):
                shown += place.ok(*argv, *form)
        place.ok("wait", "ada")
        assert SECRET in place.ok("read", "--name", "ada", sent)
        place.ok("stop")
        logs = [path.read_text() for path in (place.state / "log").iterdir()]
        assert sent in shown
        assert any("adda" in text for text in logs)
        assert SECRET not in shown
        assert all(SECRET not in text for text in logs)


def _person(place: Place, *argv: str) -> "subprocess.Popen[bytes]":
    """A homi command with a controlling terminal, its stdout a pipe nobody reads."""
    launcher = (
        "import os, pty, sys, fcntl, termios\n"
        "ours, theirs = pty.openpty()\n"
        "fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)\n"
        "from homi.cli.fast import main\n"
        "main()\n"
    )
    return subprocess.Popen(
        [sys.executable, "-c", launcher, *argv],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env=place.env(),
        start_new_session=True,
    )


def _blocked_in_write(pid: int) -> bool:
    """Whether the process waits for room in its pipe."""
    try:
        where = Path(f"/proc/{pid}/wchan").read_text()
        calls = Path(f"/proc/{pid}/syscall").read_text().split()
    except OSError:
        return False
    return "pipe" in where or calls[:2] == ["1", "0x1"]
