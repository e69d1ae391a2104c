"""Real sessions of Claude Code in a private tmux, scripted and watched."""

import contextlib
import json
import os
import shlex
import signal
import urllib.parse
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.clients.namespace import Namespace
from tests.standin.place import until

Json = dict[str, Any]


class Claude(Namespace):
    """Sessions on one private machine; down() ends all of them."""

    def __init__(self) -> None:
        """Nothing started yet."""
        super().__init__()
        self.ids: dict[str, str] = {}
        self.pids: dict[str, int] = {}
        self.bare: set[object] = set()  # names of sessions without a socket

    # ---- the model ----

    def push(self, name: str, *steps: Json) -> None:
        """Queue the model's next answers in that session."""
        body = {"session": self.ids[name], "steps": list(steps)}
        self.control("/_ctl/push", body)

    def calls(self, name: str, since: int = 0) -> list[Json]:
        """The model calls of the session."""
        path = f"/_ctl/log?session={self.ids[name]}&since={since}"
        return list(self.control(path))

    def last(self) -> int:
        """The number of the newest model call of all."""
        rows = self.control("/_ctl/log")
        return int(rows[-1]["n"]) if rows else 0

    def texts(self, name: str, since: int = 0) -> list[str]:
        """Every text the session's model was given since a call, in order."""
        return [text for call in self.calls(name, since) for text in call["new"]]

    def given(self, name: str, part: str, since: int = 0, patience: float = 30) -> str:
        """The first text with part that the session's model was given."""

        def found() -> str:
            hits = [text for text in self.texts(name, since) if part in text]
            return hits[0] if hits else ""

        return str(until(found, f"{name} is given {part!r}", patience, 0.2))

    def asked(self, text: str) -> int:
        """How many requests of any session held text, in whatever place."""
        return int(self.control(f"/_ctl/asked?text={urllib.parse.quote(text)}"))

    # ---- sessions ----

    def start(
        self,
        name: str,
        *argv: str,
        mode: str = "manual",
        settings: Json | None = None,
        steps: tuple[Json, ...] = (),
        desktop: bool = False,
    ) -> Json:
        """An interactive session of that name; its record once it is published.

        steps answer its first model calls; desktop: it believes to be on a person's
        machine, so that the registry sweep runs."""
        self.ids[name] = str(uuid.uuid4())
        if "--restricted" in argv:
            self.bare.add(name)
        if steps:
            self.push(name, *steps)
        command = [str(self.bin / "claude"), "-n", name]
        command += ["--session-id", self.ids[name], "--permission-mode", mode]
        if settings is not None:
            command += ["--settings", json.dumps(settings)]
        env = self.env(IS_SANDBOX=None) if desktop else self.env()
        prefix = self.plain_root() if desktop else []
        full = [*prefix, "env", "-i", *(f"{k}={v}" for k, v in env.items())]
        self.tmux("kill-session", "-t", name, check=False)
        self.tmux(
            *("new-session", "-d", "-s", name, "-x", "160", "-y", "50"),
            *("-c", str(self.work), shlex.join([*full, *command, *argv])),
        )
        wanted = self.ids[name]
        record = self.record(
            lambda one: one.get("sessionId") == wanted and bool(one.get("status"))
        )
        self.pids[name] = record["pid"]
        return record

    def records(self) -> list[Json]:
        """Every readable record of the registry, ours and the sessions'."""
        found = []
        for file in sorted(self.registry.glob("*.json")):
            with contextlib.suppress(OSError, ValueError):
                found.append(json.loads(file.read_text()))
        return found

    def record(self, fits: Callable[[Json], bool], patience: float = 30) -> Json:
        """The first record that fits, of a living process with a socket."""

        def found() -> Json | None:
            for one in self.records():
                alive = Path(f"/proc/{one.get('pid')}").exists()
                bare = one.get("name") in self.bare
                if alive and (bare or one.get("messagingSocketPath")) and fits(one):
                    return one
            return None

        return dict(until(found, "a record", patience, 0.05))

    def session(self, name: str) -> Json:
        """The record of the session started as name, as it is now."""
        return self.record(lambda one: one.get("pid") == self.pids[name])

    def status(self, name: str, wanted: str, patience: float = 30) -> None:
        """Wait until the session's record shows the status."""
        until(
            lambda: any(
                one.get("pid") == self.pids[name] and one.get("status") == wanted
                for one in self.records()
            ),
            f"{name} is {wanted}",
            patience,
            0.05,
        )

    def say(self, name: str, text: str, *steps: Json) -> list[str]:
        """Type a prompt, its answers scripted; what the model was given until idle."""
        since = self.last()
        if steps:
            self.push(name, *steps)
        self.type(name, text)
        calls = max(1, len(steps))
        until(
            lambda: len(self.calls(name, since)) >= calls,
            f"{name} makes {calls} calls",
            30,
            0.2,
        )
        self.status(name, "idle")
        return self.texts(name, since)

    def type(self, name: str, text: str) -> None:
        """Type a line and send it once the screen shows it."""
        self.keys(name, "-l", text)
        self.shows(name, text[:20])
        self.keys(name, "Enter")

    def shows(self, name: str, text: str) -> None:
        """Wait until the session's terminal shows text."""
        until(lambda: text in self.screen(name), f"{name} shows {text!r}", 15, 0.05)

    def keys(self, name: str, *keys: str) -> None:
        """Send keys to the session's terminal."""
        self.tmux("send-keys", "-t", name, *keys)

    def screen(self, name: str) -> str:
        """What the session's terminal shows."""
        return self.tmux("capture-pane", "-p", "-t", name).rstrip()

    def kill(self, name: str) -> None:
        """SIGKILL the client: record, key and socket stay behind.  Reaped when this
        returns: to a session that starts now a zombie still has the name."""
        pid = self.pids[name]
        os.kill(pid, signal.SIGKILL)
        until(lambda: not Path(f"/proc/{pid}").exists(), f"{name} is dead")

    def end(self, name: str) -> None:
        """End it with SIGTERM, as closing its terminal does."""
        pid = self.pids[name]
        os.kill(pid, signal.SIGTERM)
        until(lambda: not _runs(pid), f"{name} has ended")

    def end_all(self) -> None:
        """End every session, and forget them."""
        for name, pid in self.pids.items():
            if _runs(pid):
                self.end(name)
        self.pids.clear()


def _runs(pid: int) -> bool:
    """Whether the process runs (a zombie does not)."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text[text.rindex(")") + 2] != "Z"
