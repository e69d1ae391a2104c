"""A private machine for a test: HOME, XDG folders, state root, daemon, sessions.

Everything lives under one short temporary path (a unix socket's path is at most
107 bytes) and everything started here is ended by close(), which proves it.
"""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.standin import registry, warm
from tests.standin.closing import Closing
from tests.standin.driver import ROOT, Standin

# s: long enough for a machine that others load; whoever does not wait pays nothing.
PATIENCE = 60.0
ENDING = 10.0  # s in which what a daemon started notices that it is gone
AGENT = ("CLAUDE", "CODEX", "AI_AGENT", "HOMI_", "XDG_", "PYTEST_")


class NotReached(AssertionError):
    """A condition that did not come true in time."""


def until(
    holds: Callable[[], Any], what: str, patience: float = PATIENCE, step: float = 0.01
) -> Any:  # noqa: ANN401 - whatever the condition found
    """The first true value of holds(); NotReached after patience."""
    deadline = time.monotonic() + patience
    pause = threading.Event()
    while True:
        if found := holds():
            return found
        if time.monotonic() > deadline:
            raise NotReached(what)
        pause.wait(step)


def homi_command() -> list[str]:
    """The installed command beside this interpreter, else the module."""
    beside = Path(sys.executable).parent / "homi"
    if beside.exists():
        return [str(beside)]
    return [sys.executable, "-c", "from homi.cli.fast import main; main()"]


class Place(Closing):
    """One user on one machine, alone."""

    def __init__(self, config: str | None = None, *, device: str = "here") -> None:
        """Folders made, nothing started; config stands for the whole homi.toml."""
        if config is None:
            config = f'device = "{device}"\nring = 8\nreserve = 1\n'
        self.device = device
        self.root = Path(tempfile.mkdtemp(prefix="hm"))
        self.home = self.root / "h"
        self.run = self.root / "r"
        self.state = self.root / "s"
        self.work = self.root / "w"
        self.bin = self.root / "b"  # programs that stand before those of the machine
        self.log = self.root / "homi.log"
        # The agent client has been used here: homi lists names in its folder, but
        # does not make that folder for it.
        for folder in (self.home, self.run, self.work, self.home / ".claude"):
            folder.mkdir(mode=0o700)
        settings = self.home / ".config" / "homi"
        settings.mkdir(parents=True, mode=0o700)
        (settings / "homi.toml").write_text(config)
        self.registry = self.home / ".claude" / "sessions"
        self.sessions: list[Standin] = []
        self.daemon: subprocess.Popen[bytes] | None = None
        self.started: list[int] = []

    def env(self, **more: str) -> dict[str, str]:
        """The environment of everything here; nothing of the caller's agent leaks."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(AGENT)}
        return kept | {
            "HOME": str(self.home),
            "PATH": f"{self.bin}:{os.environ.get('PATH', os.defpath)}",
            "XDG_RUNTIME_DIR": str(self.run),
            "HOMI_HOME": str(self.state),
            "CLAUDE_CONFIG_DIR": str(self.home / ".claude"),
            "PYTHONPATH": str(ROOT),
            **more,
        }

    # ---- homi ----

    def homi(
        self, *argv: str, given: str | bytes = b"", **env: str
    ) -> subprocess.CompletedProcess[str]:
        """Run one homi command as a service (no terminal); its result."""
        data = given.encode() if isinstance(given, str) else given
        done = warm.run([*homi_command(), *argv], data, self.env(**env), self.work)
        return subprocess.CompletedProcess(
            argv, done.returncode, done.stdout.decode(), done.stderr.decode()
        )

    def ok(self, *argv: str, given: str | bytes = b"") -> str:
        """The output of a command that must succeed."""
        done = self.homi(*argv, given=given)
        assert done.returncode == 0, (argv, done.returncode, done.stdout, done.stderr)
        return done.stdout

    def json(self, *argv: str) -> Any:  # noqa: ANN401 - what the command prints
        """The JSON a command prints: one value, or a list of its lines."""
        out = self.ok(*argv, "--json")
        with contextlib.suppress(ValueError):
            return json.loads(out)
        return [json.loads(line) for line in out.splitlines() if line.strip()]

    def program(self) -> list[str]:
        """What runs the daemon in the foreground."""
        return [*homi_command(), "run"]

    def install(self) -> None:
        """Let a shell here find homi in its PATH: a quick one, for it starts many."""
        self.bin.mkdir(exist_ok=True)
        program = self.bin / "homi"
        program.write_text(warm.program(self.env()))
        program.chmod(0o755)

    def run_daemon(self, **env: str) -> subprocess.Popen[bytes]:
        """Start `homi run` without waiting for it."""
        with self.log.open("ab") as log:
            self.daemon = subprocess.Popen(
                self.program(),
                env=self.env(**env),
                cwd=self.work,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.started.append(self.daemon.pid)
        return self.daemon

    def start(self, patience: float = PATIENCE, **env: str) -> subprocess.Popen[bytes]:
        """Start the daemon and wait until its control socket answers."""
        daemon = self.run_daemon(**env)
        until(
            lambda: self.answers() or daemon.poll() is not None,
            "the daemon answers",
            patience,
        )
        assert daemon.poll() is None, self.log.read_text()[-2000:]
        return daemon

    def answers(self) -> bool:
        """Whether the control socket takes a connection."""
        with socket.socket(socket.AF_UNIX) as sock:
            try:
                sock.connect(str(self.state / "homi.sock"))
            except OSError:
                return False
        return True

    def kill(self) -> None:
        """SIGKILL the daemon and reap it."""
        assert self.daemon is not None
        self.daemon.send_signal(signal.SIGKILL)
        self.daemon.wait(PATIENCE)

    def stop(self, patience: float = PATIENCE) -> int:
        """SIGTERM the daemon; its exit status."""
        assert self.daemon is not None
        self.daemon.send_signal(signal.SIGTERM)
        return self.daemon.wait(patience)

    def choose(self, name: str, **settings: str) -> None:
        """Settings of a name, written where they are kept while no daemon runs."""
        assert self.stop() == 0
        file = self.state / "names.json"
        state = json.loads(file.read_text())
        state["claims"][name]["settings"] = settings
        file.write_text(json.dumps(state))
        self.start()

    # ---- what is on disk ----

    def lines(self, name: str, file: str = "inbox") -> list[dict[str, Any]]:
        """The whole, readable lines of a journal of the mailbox, in file order."""
        return self.journal(self.state / "mail" / name / f"{file}.jsonl")

    def journal(self, path: Path) -> list[dict[str, Any]]:
        """The whole, readable lines of a journal, in file order."""
        return [line for line in _lines(path) if line is not None]

    def rungs(self, name: str, message: str) -> list[str]:
        """What the postmark and the ledger say of one message, in order."""
        return [
            "parked"
            for line in self.lines(name)
            if line["msg"]["id"] == message and "parked" in line["via"]
        ] + [
            line["rung"] for line in self.lines(name, "ledger") if line["id"] == message
        ]

    def stored(self, name: str, text: str, count: int = 1) -> dict[str, Any]:
        """Wait until so many inbox lines hold text; the first of them."""

        def found() -> list[dict[str, Any]]:
            hits = [one for one in self.lines(name) if text in one["msg"]["text"]]
            return hits if len(hits) >= count else []

        return dict(until(found, f"{text!r} is in the mailbox of {name}")[0])

    def notice(self, name: str, about: str) -> dict[str, Any]:
        """Wait for system mail in the mailbox of name about a message."""

        def found() -> dict[str, Any] | None:
            for line in self.lines(name):
                if line["msg"].get("reply_to") == about and line["msg"].get("auto"):
                    return line
            return None

        return dict(until(found, f"a notice about {about} is in the mailbox of {name}"))

    def send(self, to: str, text: str, *options: str, sender: str = "svc") -> str:
        """Send by the command line as a claimed name; the message's id."""
        out = self.ok("send", "--json", "--from", sender, *options, to, text)
        return str(json.loads(out)["id"])

    def reached(
        self, name: str, message: str, rung: str, patience: float = PATIENCE
    ) -> None:
        """Wait until the ledger has that rung for the message."""
        until(
            lambda: rung in self.rungs(name, message),
            f"{message} in {name} is {rung}, has {self.rungs(name, message)}",
            patience,
        )

    def logged(self, words: str) -> None:
        """Wait until the daemon said so on stderr: it logs behind what it does."""
        until(lambda: words in self.log.read_text(), f"logged: {words}")

    def planted(self, name: str) -> dict[str, Any] | None:
        """The record homi holds for name in the registry, None while it steps aside."""
        for file in self.registry.glob("*.json"):
            with contextlib.suppress(OSError, ValueError):
                record = json.loads(file.read_text())
                foreign = record.get("pidDomain") != registry.pid_domain()
                if record.get("name") == name and foreign:
                    return dict(record)
        return None

    def listed(self, name: str) -> dict[str, Any]:
        """Wait until homi holds name in the registry; its record."""
        return dict(until(lambda: self.planted(name), f"{name} is planted"))

    # ---- sessions ----

    def session(self, name: str, *options: str, cwd: Path | None = None) -> Standin:
        """A stand-in session, ready."""
        made = Standin(self.env(), name, cwd or self.work, *options)
        self.sessions.append(made)
        self.started.append(made.pid)
        return made

    # ---- the end ----

    def close(self) -> None:
        """End everything started here and prove it; remove the folders."""
        for one in self.sessions:
            one.close()
        if self.daemon is not None and self.daemon.poll() is None:
            self.daemon.terminate()
            try:
                self.daemon.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.kill()
        self.tell()
        left: list[int] = []

        def gone() -> bool:
            left[:] = self.left()
            return not left

        with contextlib.suppress(NotReached):
            until(gone, "all that was started here ends", ENDING)
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.root, ignore_errors=True)
        assert not left, f"left running: {left}"

    def tell(self) -> None:
        """What the daemon said last; pytest shows it with a failure, and only then."""
        if self.log.exists():
            sys.stderr.write(self.log.read_text(errors="replace")[-4000:])

    def left(self) -> list[int]:
        """Every live process whose environment names our state root."""
        mark = f"HOMI_HOME={self.state}".encode()
        return [pid for pid, env in _environments() if mark in env.split(b"\0")]


def _lines(path: Path) -> Iterator[dict[str, Any] | None]:
    """Terminated lines of a journal: the object, None for one that is unreadable."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return
    for raw in data.split(b"\n")[:-1]:
        if not raw:
            continue
        try:
            yield json.loads(raw)
        except ValueError:
            yield None


def _environments() -> Iterator[tuple[int, bytes]]:
    """Every process that is not a zombie, with its environment."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                yield int(entry.name), (entry / "environ").read_bytes()
