"""Start, drive and end stand-in sessions: events are waited for, never time."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO, Any

from tests.standin.closing import Closing

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60.0  # s a test waits for an event before it fails

Event = dict[str, Any]


class NoEvent(AssertionError):
    """The event did not come; the text shows what did."""


class Standin(Closing):
    """One stand-in session.  do() waits for the command, wait() for an event."""

    def __init__(
        self, env: dict[str, str], name: str, cwd: Path, *options: str
    ) -> None:
        """Started and ready (its record published) when this returns."""
        self.events: list[Event] = []
        self._fresh: list[Event] = []
        self._news = threading.Condition()
        self._count = 0
        self.name = name
        argv = [sys.executable, "-m", "tests.standin", "--name", name]
        self.process = subprocess.Popen(
            [*argv, *options],
            env=env | {"PYTHONPATH": str(ROOT)},
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        ready = self.wait("ready")
        self.pid: int = ready["pid"]
        self.session_id: str = ready["session_id"]
        self.socket = Path(ready["socket"])

    def _read(self) -> None:
        assert self.process.stdout is not None
        for raw in self.process.stdout:
            event = json.loads(raw)
            with self._news:
                self.events.append(event)
                self._fresh.append(event)
                self._news.notify_all()
        with self._news:
            self.events.append({"event": "gone"})
            self._fresh.append({"event": "gone"})
            self._news.notify_all()

    def wait(self, event: str, timeout: float = PATIENCE, **fields: object) -> Event:
        """The first such event not handed out before; NoEvent after timeout."""
        deadline = time.monotonic() + timeout
        with self._news:
            while True:
                for found in self._fresh:
                    if _matches(found, event, fields):
                        self._fresh.remove(found)
                        return found
                left = deadline - time.monotonic()
                if left <= 0 or not self._news.wait(left):
                    seen = [one["event"] for one in self.events]
                    raise NoEvent(f"{self.name}: no {event} {fields} among {seen}")

    def seen(self, event: str, **fields: object) -> list[Event]:
        """Every such event so far, handed out or not."""
        with self._news:
            return [one for one in self.events if _matches(one, event, fields)]

    def do(self, what: str, **fields: object) -> None:
        """Give a command and wait until it is done."""
        self._count += 1
        self.ask(what, i=self._count, **fields)
        self.wait("done", i=self._count)

    def ask(self, what: str, **fields: object) -> None:
        """Give a command; its end is an event."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"do": what, **fields}).encode() + b"\n")
        self.process.stdin.flush()

    def send(self, to: str, text: str, **fields: object) -> Event:
        """Send by the session's own tool; the verdict its model is told."""
        self.ask("send", to=to, text=text, **fields)
        return self.wait("sent", to=to)

    def tool(self, *argv: str, given: str = "") -> Event:
        """Run argv as the session's Bash tool: {rc, out, err}."""
        self.ask("run", argv=list(argv), input=given)
        return self.wait("ran")

    def letters(self) -> list[dict[str, Any]]:
        """Every letter its model was given, in order."""
        with self._news:
            return [
                letter
                for event in self.events
                if event["event"] in ("turn", "absorbed")
                for letter in event["letters"]
            ]

    def letter(self, text: str, timeout: float = PATIENCE) -> dict[str, Any]:
        """The first letter given to the model whose text holds text."""
        deadline = time.monotonic() + timeout
        with self._news:
            while True:
                for event in self.events:
                    for letter in event.get("letters", ()):
                        if text in letter["text"]:
                            return dict(letter)
                left = deadline - time.monotonic()
                if left <= 0 or not self._news.wait(left):
                    raise NoEvent(f"{self.name}: no letter with {text!r}")

    def kill(self) -> None:
        """SIGKILL: record, key and socket stay behind."""
        self.process.send_signal(signal.SIGKILL)
        self._end()

    def exit(self) -> None:
        """The clean end, as /exit does it."""
        if self.process.poll() is None:
            self.ask("exit")
        self._end()

    def _end(self) -> None:
        self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                _close(stream)

    def close(self) -> None:
        """End it somehow; nothing of it is left running."""
        if self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGKILL)
        self._end()


def _matches(found: Event, event: str, fields: dict[str, Any]) -> bool:
    return found["event"] == event and all(
        found.get(key) == value for key, value in fields.items()
    )


def _close(stream: IO[bytes]) -> None:
    """A pipe to a killed process may still hold bytes that nobody takes."""
    with contextlib.suppress(BrokenPipeError):
        stream.close()
