"""What reading must not do: record what was not shown, show what was not asked for."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.cli.fakedaemon import FakeDaemon
from tests.cli.run import homi
from tests.cli.test_sending import claim
from tests.standin.place import PATIENCE, Place

SECRET = "swordfish-7731"


def test_a_reader_killed_before_the_text_was_out_has_seen_nothing() -> None:
    """The record comes after the flush; the control: a reader that ends has seen it."""
    with Place() as place:
        place.start()
        place.ok("claim", "bob")
        place.ok("send", "--from", "bob", "owner", given="x" * 500_000)
        (message,) = (line["msg"]["id"] for line in place.lines("owner"))
        read = _person(place, "read", message)
        # No pipe takes as much: some of it is in there, and it is not all out.
        assert select.select([read.stdout], [], [], PATIENCE)[0], "the reader is at it"
        os.kill(read.pid, signal.SIGKILL)
        read.wait(PATIENCE)
        assert read.stdout is not None
        read.stdout.close()
        assert place.rungs("owner", message) == []
        second = _person(place, "read", message)
        out, _ = second.communicate(timeout=PATIENCE)
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


def test_a_daemon_that_dies_as_it_greets_hides_no_mail(tmp_path: Path) -> None:
    """The files are read; the control: where none runs, without a remark."""
    claim(tmp_path, "ada")
    socket = tmp_path / "s/homi.sock"

    def dies(_request: dict[str, Any]) -> None:
        socket.unlink(missing_ok=True)

    with FakeDaemon(tmp_path / "s", hello=dies):
        died = homi(tmp_path, "inbox", "ada")
    none = homi(tmp_path, "inbox", "ada")
    assert (died.returncode, died.stdout) == (none.returncode, none.stdout) == (0, b"")
    gone = b"homi: the daemon closed the connection before it answered\n"
    assert (died.stderr, none.stderr) == (gone, b"")
