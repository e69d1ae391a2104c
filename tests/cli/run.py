"""Run homi as a process of its own, in an environment of its own."""

import fcntl
import os
import pty
import subprocess
import sys
import termios
from collections.abc import Sequence
from pathlib import Path

from tests.standin import warm

REPOSITORY = Path(__file__).parents[2]
AGENT = ("CLAUDE", "CODEX", "AI_AGENT", "HOMI_", "XDG_", "PYTEST_")


def environment(folder: Path) -> dict[str, str]:
    """Nothing of the caller's agent or settings; HOME and the root in folder."""
    kept = {key: v for key, v in os.environ.items() if not key.startswith(AGENT)}
    return kept | {
        "HOME": str(folder),
        "HOMI_HOME": str(folder / "s"),
        "CLAUDE_CONFIG_DIR": str(folder / ".claude"),
        "PYTHONPATH": str(REPOSITORY),
    }


def homi(
    folder: Path, *argv: str | bytes, given: bytes = b"", **env: str
) -> subprocess.CompletedProcess[bytes]:
    """A homi command as a service: no terminal anywhere."""
    command = [sys.executable, "-m", "homi", *map(os.fsdecode, argv)]
    return warm.run(command, given, environment(folder) | env, folder)


def by_person(
    folder: Path, *argv: str, screen: bool = False, **env: str
) -> subprocess.CompletedProcess[bytes]:
    """A homi command with a controlling terminal; screen: its stdout too."""
    return at_terminal(environment(folder) | env, folder, argv, screen=screen)


def at_terminal(
    env: dict[str, str], cwd: Path, argv: Sequence[str], *, screen: bool
) -> subprocess.CompletedProcess[bytes]:
    """The same with that environment, whole, and in that folder."""
    env = {"TERM": "xterm", "NO_COLOR": "1"} | env
    ours, theirs = pty.openpty()
    if (by := warm.fits(env)) is not None:
        out, stdout = (ours, theirs) if screen else os.pipe()
        done = warm.finish(
            by, [warm.MAIN, *argv], (theirs, stdout), out, env, cwd, terminal=True
        )
        if not screen:
            os.close(ours)
        return done

    def sit_down() -> None:
        fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

    process = subprocess.Popen(
        [sys.executable, "-m", "homi", *argv],
        stdin=theirs,
        stdout=theirs if screen else subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env,
        cwd=cwd,
        start_new_session=True,
        preexec_fn=sit_down,
    )
    os.close(theirs)
    shown = _until_closed(ours) if screen else b""
    said, err = process.communicate(timeout=60)
    os.close(ours)
    return subprocess.CompletedProcess(argv, process.returncode, said or shown, err)


def _until_closed(terminal: int) -> bytes:
    """What was written to a terminal until nobody has it open."""
    parts = []
    while True:
        try:
            data = os.read(terminal, 1 << 16)
        except OSError:  # Linux says EIO once the other side is closed
            return b"".join(parts)
        if not data:
            return b"".join(parts)
        parts.append(data)
