"""A home, a state root and a daemon for a test, and nothing of them left behind.

Owns the folder and every process that was started in it; touches nothing of the
user's.  homi-selftest(1).
"""

import contextlib
import json
import os
import select
import shutil
import signal
import site
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from homi.connection import Connection
from homi.dial import Absent, Lost
from homi.errors import Bug

SETTINGS = 'device = "selftest"\nring = 4\nreserve = 1\nnotify = []\n'
# What names another home, or makes a process an agent's.
STRANGE = ("CLAUDE", "CODEX", "AI_AGENT", "HOMI_", "XDG_")
CONFIG = "h/.claude"
OTHERS = ("r/cc-socks", "c/homi")
SIGNALS = (signal.SIGINT, signal.SIGTERM)
START = 10.0  # s
ANSWER = 15.0  # s a command of an agent may take
STOP = 5.0  # s
LOOK = 0.01  # s between looks at a daemon that tells nobody when it is ready


class Session:
    """One agent of the place."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        """It was just started."""
        self.process = process

    def ask(self, *argv: str) -> None:
        """Give it a command to run."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(argv) + "\n")
        self.process.stdin.flush()

    def told(self) -> str:
        """What its command said; Bug (70) where that failed or did not end."""
        assert self.process.stdout is not None
        if not select.select([self.process.stdout], [], [], ANSWER)[0]:
            raise Bug(f"an agent said nothing for {ANSWER:g} s")
        line = self.process.stdout.readline()
        if not line:
            raise Bug(f"an agent ended with status {self.process.wait(STOP)}")
        status, out, err = json.loads(line)
        if status:
            raise Bug(f"status {status}: {' '.join(err.split()) or out.strip()}")
        return str(out).strip()


class Place:
    """The whole of it, from with to its end."""

    def __init__(self) -> None:
        """Only the folder is made; under a short path, for the sockets."""
        self.folder = Path(tempfile.mkdtemp(prefix="homi-", dir="/tmp"))
        self.root = self.folder / "s"
        self.started: list[subprocess.Popen[str]] = []
        self._daemon: subprocess.Popen[str] | None = None
        # All of them: an agent that is ended as it starts must make none anew.
        for name in (f"{CONFIG}/sessions", f"{CONFIG}/projects/selftest", *OTHERS):
            (self.folder / name).mkdir(mode=0o700, parents=True)
        (self.folder / "c" / "homi" / "homi.toml").write_text(SETTINGS)
        self.environment = self._environment(os.environ)

    def homi(self, *argv: str) -> tuple[str, ...]:
        """A command of the homi that is tested."""
        return (sys.executable, "-P", "-m", "homi", "--home", str(self.root), *argv)

    def start(self) -> int:
        """The daemon, until it answers; its pid."""
        self._daemon = self._popen(*self.homi("run"))
        deadline = time.monotonic() + START
        while time.monotonic() < deadline and self._daemon.poll() is None:
            with contextlib.suppress(Absent, Lost), Connection(self.root) as client:
                return client.welcome.pid
            time.sleep(LOOK)
        raise Bug(f"the daemon does not answer: {self.said()}")

    def session(self, name: str) -> Session:
        """An agent of that name, listed."""
        argv = (sys.executable, "-P", "-m", "homi.selftest.agent", name)
        made = Session(self._popen(*argv))
        made.told()
        return made

    def said(self) -> str:
        """The last line of the daemon's log."""
        with contextlib.suppress(OSError):
            lines = (self.folder / "log").read_text("utf-8", "replace").splitlines()
            return lines[-1] if lines else "it said nothing"
        return "it said nothing"

    def stop(self) -> None:
        """The daemon ends in order; Bug (70) where it does not."""
        assert self._daemon is not None
        self._daemon.terminate()
        try:
            status = self._daemon.wait(STOP)
        except subprocess.TimeoutExpired:
            raise Bug(f"the daemon does not end within {STOP:g} s") from None
        if status:
            raise Bug(f"the daemon ended with status {status}: {self.said()}")

    def close(self) -> None:
        """Every process is ended and the folder gone, whatever happened."""
        for process in self.started:
            # The whole group: a command of an agent that is killed goes on without it.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with contextlib.suppress(OSError):
                        stream.close()
        deadline = time.monotonic() + STOP
        while self.folder.exists() and time.monotonic() < deadline:
            shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        """The place itself."""
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

    def _environment(self, ours: Mapping[str, str]) -> dict[str, str]:
        """That of every process here; a homi in its source tree is found there."""
        kept = {k: v for k, v in ours.items() if not k.startswith(STRANGE)}
        tree = str(Path(__file__).parents[2])
        if tree not in site.getsitepackages():
            before = kept.get("PYTHONPATH")
            kept["PYTHONPATH"] = f"{tree}{os.pathsep}{before}" if before else tree
        return kept | {
            "HOME": str(self.folder / "h"),
            "CLAUDE_CONFIG_DIR": str(self.folder / CONFIG),
            "XDG_RUNTIME_DIR": str(self.folder / "r"),
            "XDG_CONFIG_HOME": str(self.folder / "c"),
        }

    def _popen(self, *argv: str) -> "subprocess.Popen[str]":
        """A process of its own, its words going to the log; an end that is asked for
        meanwhile comes when it is known, so that it is ended, too."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            with open(self.folder / "log", "ab") as log:
                made = subprocess.Popen(
                    argv,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                    cwd=self.folder,
                    env=self.environment,
                    start_new_session=True,
                    preexec_fn=partial(
                        signal.pthread_sigmask, signal.SIG_SETMASK, before
                    ),
                )
            self.started.append(made)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return made
