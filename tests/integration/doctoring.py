"""The doctor at a machine of its own: what one check says, and a fix as it is typed."""

import contextlib
import fcntl
import os
import pty
import re
import signal
import subprocess
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

from homi.doctor.check import Grade, Row, examine
from homi.doctor.facts import Facts
from homi.doctor.machine import Machine
from homi.doctor.table import CHECKS
from tests.standin.place import AGENT, Place, homi_command
from tests.unit.doctor.breaks import BREAKS, shown


class Later(Machine):
    """This machine, its clock set on."""

    def __init__(self, by: float = 0.0) -> None:
        """by: seconds."""
        super().__init__()
        self.by = by

    def now(self) -> float:
        """Then."""
        return super().now() + self.by


class Doctor:
    """Looks at a place from within the test, which has its environment."""

    def __init__(self, place: Place, patch: pytest.MonkeyPatch) -> None:
        """patch: the environment of the test becomes the place's."""
        self.place = place
        self.kept: Facts | None = None  # what was asked before
        self.patience = 60.0  # s that a daemon has to answer
        place.bin.mkdir(exist_ok=True)
        (place.bin / "homi").symlink_to(homi_command()[0])
        for key in [key for key in os.environ if key.startswith(AGENT)]:
            if key != "PYTEST_CURRENT_TEST":
                patch.delenv(key)
        for key, value in place.env().items():
            patch.setenv(key, value)

    @contextlib.contextmanager
    def hanging(self) -> Iterator[None]:
        """The daemon answers nobody: what is looked at is what it said before."""
        self.kept = Facts(self.place.state, Later())
        assert self.kept.daemon is not None
        pid = self.kept.daemon.status.pid
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            self.kept = None
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def sessions(self) -> list[int]:
        """The live sessions that the daemon knows."""
        return [one.pid for one in Facts(self.place.state, Later()).sessions]

    def rows(self, check: str, later: float = 0.0) -> list[Row]:
        """All that a check says now."""
        seen = self.kept or Facts(self.place.state, Later(later), self.patience)
        return list(examine([one for one in CHECKS if one.name == check], seen))

    def shown(self, key: str, later: float = 0.0) -> Row:
        """What it finds wrong as the entry has it."""
        rows, says = self.rows(key.partition(":")[0], later), BREAKS[key].says
        found = [one for one in rows if re.search(says, one.text)]
        assert found, rows
        return shown(key, found[0])

    def well(self, check: str, later: float = 0.0) -> bool:
        """Whether it finds nothing wrong."""
        return {row.grade for row in self.rows(check, later)} == {Grade.OK}

    def typed(self, row: Row, answer: str = "") -> None:
        """Its fix, as it is printed, by the shell of a person at a terminal."""
        ours, theirs = pty.openpty()

        def sit_down() -> None:
            fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

        os.write(ours, answer.encode())
        done = subprocess.run(
            ["sh", "-c", row.fix],
            stdin=theirs,
            capture_output=True,
            cwd=self.place.work,
            env=self.place.env(),
            preexec_fn=sit_down,
            start_new_session=True,
            timeout=60,
            check=False,
        )
        os.close(ours)
        os.close(theirs)
        assert done.returncode == 0, (row.fix, done.stdout, done.stderr)


def damage(path: Path, at: int) -> None:
    """Other bytes there."""
    with path.open("r+b") as file:
        file.seek(at)
        file.write(b"\0\0")
