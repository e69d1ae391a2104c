"""`homi pair` at a terminal: what ssh asks there, and what an answer does."""

import fcntl
import os
import pty
import re
import select
import signal
import subprocess
import termios
from pathlib import Path
from typing import Self

import pytest

from homi.errors import NotAllowed
from tests.integration.test_pair import Lab, lab
from tests.standin.place import PATIENCE, homi_command

__all__ = ["lab"]

PHRASE = "s3cret"
KNOWN = "Are you sure you want to continue connecting"
PASS = "Enter passphrase for key"


class Seat:
    """A person's terminal, with homi pair running in it."""

    def __init__(self, lab: Lab, *, typing: bool = True) -> None:
        """typing: standard input is the terminal; else it is only the controlling
        one, as of a script that somebody started there."""
        self.ours, theirs = pty.openpty()
        self.shown = ""

        def sit_down() -> None:
            fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(
            [*homi_command(), "pair", "mini"],
            stdin=theirs if typing else subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
            env={"TERM": "xterm", "NO_COLOR": "1"} | lab.lap.env(),
            cwd=lab.lap.work,
            start_new_session=True,
            preexec_fn=sit_down,
        )
        os.close(theirs)

    def see(self, words: str) -> None:
        """Wait until the terminal shows words; what is before them is over."""
        while words not in self.shown:
            assert self._read(), f"no {words!r} in {self.shown!r}"
        self.shown = self.shown.partition(words)[2]

    def type(self, text: str) -> None:
        """What a person types."""
        os.write(self.ours, text.encode())

    def ended(self) -> tuple[int, str]:
        """The exit status, and what was shown since."""
        while self._read():
            pass
        return self.process.wait(PATIENCE), self.shown

    def echoes(self) -> bool:
        """Whether the terminal shows what is typed."""
        return bool(termios.tcgetattr(self.ours)[3] & termios.ECHO)

    def _read(self) -> bool:
        """A little more; False: nobody has it open, or nothing came for long."""
        if not select.select([self.ours], [], [], 2 * PATIENCE)[0]:
            return False
        try:
            data = os.read(self.ours, 1 << 16)
        except OSError:  # Linux says EIO once the other side is closed
            return False
        self.shown += data.decode(errors="replace")
        return bool(data)

    def __enter__(self) -> Self:
        """The seat itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Nobody sits there any more."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(PATIENCE)
        os.close(self.ours)


@pytest.fixture
def stranger(lab: Lab) -> Lab:
    """The laptop never saw mini, and the person's key has a passphrase."""
    lab.server.reach(lab.lap, trust=False, passphrase=PHRASE)
    return lab


def test_a_person_is_asked_what_ssh_must_know_once_and_goes_on(stranger: Lab) -> None:
    """The host with its fingerprint, then the passphrase, unseen; nothing more."""
    with Seat(stranger) as seat:
        seat.see("SHA256:")
        seat.see(KNOWN)
        seat.type("yes\n")
        seat.see(PASS)
        assert not seat.echoes()
        seat.type(f"{PHRASE}\n")
        status, shown = seat.ended()
    assert status == 0, shown
    for step in ("ssh", "homi", "daemon", "devices", "there", "here", "out", "in"):
        assert re.search(rf"^{step} ", shown, re.M), shown
    assert PHRASE not in shown
    assert PASS not in shown
    assert KNOWN not in shown
    assert len(stranger.lines()) == 1


def test_no_and_the_end_of_input_and_ctrl_c_change_nothing(stranger: Lab) -> None:
    """It ends at once and in words; the terminal is as it was, and nothing is left."""
    for at, typed, status, said in (
        (KNOWN, "no\n", NotAllowed.exit_status, "is not known to your ssh"),
        (KNOWN, "\x03", -signal.SIGINT, ""),
        (PASS, "\x04", NotAllowed.exit_status, "does not let you in"),
        (PASS, "\x03", -signal.SIGINT, ""),
    ):
        if at == PASS:
            stranger.server.trust(stranger.lap)
        with Seat(stranger) as seat:
            seat.see(at)
            assert held(seat)
            seat.type(typed)
            ended, shown = seat.ended()
            assert seat.echoes()
        assert ended == status, shown
        assert said in shown
        assert "Traceback" not in shown
        assert not held(seat)
    assert stranger.lines() == []
    assert not stranger.lap.json("link", "ls", "--no-probe")


def test_a_script_is_asked_nothing_even_where_a_terminal_is_near(
    stranger: Lab,
) -> None:
    """Standard input is none: ssh does not go to the terminal behind it."""
    with Seat(stranger, typing=False) as seat:
        status, shown = seat.ended()
    assert status == NotAllowed.exit_status
    assert KNOWN not in shown
    stranger.server.trust(stranger.lap)
    with Seat(stranger, typing=False) as seat:
        status, shown = seat.ended()
    assert status == NotAllowed.exit_status
    assert "ssh-add" in shown
    assert PASS not in shown


def held(seat: Seat) -> list[Path]:
    """The folder of the connection that the commands of this pairing share."""
    return [*Path("/tmp").glob(f"homi-{seat.process.pid}-*")]
