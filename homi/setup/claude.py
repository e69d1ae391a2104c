"""The files of Claude Code: its settings, and the list of its servers.

Owns what homi writes into them, and how it is known again.  homi-setup(1).
"""

import json
import os
import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path as File

from homi.errors import NotReached
from homi.setup import place, program
from homi.setup.editor import TAKEN, Edited, State
from homi.setup.jsonc import Document, Path, Unsafe, Value
from homi.setup.record import Kept

EVENTS = {
    "SessionStart": "session-start",
    "UserPromptSubmit": "prompt",
    "Stop": "stop",
}
TIMEOUT = 5  # s: homi itself gives up after 0.2
# The client asks before any tool of a server, whatever the tool says of itself.  None
# of these can change what is trusted, or take anything away.
TOOLS = ("send", "ask", "reply", "inbox", "read", "ack", "wait", "who")
ALLOW = ("permissions", "allow")
SERVERS = "mcpServers"
NAME = "homi"
EMPTY = "{}\n"


def folder() -> File:
    """Where the client has its settings unless it was told otherwise."""
    return File(os.environ.get("CLAUDE_CONFIG_DIR") or _usual())


def state_file(config: File) -> File:
    """Where a client with that folder keeps its servers: beside the usual folder, in
    any other."""
    old = config / ".config.json"
    usual = config == _usual() and not os.environ.get("CLAUDE_CONFIG_DIR")
    file = (config.parent if usual else config) / ".claude.json"
    return old if old.is_file() and not file.exists() else file


class Settings:
    """settings.json: the hooks, and the leave to use homi's tools unasked."""

    name = "settings.json"
    parts: tuple[str, ...] = ("hooks", "permissions")
    backup = True

    def __init__(self, config: File, command: Sequence[str]) -> None:
        """command: what a command of homi's begins with."""
        self.path = config / self.name
        self._command = command

    def add(self, text: str | None, kept: Kept) -> Edited:
        """Each hook once, and each leave that no person took back."""
        document = Document(EMPTY if text is None else text)
        hooks = self._add_hooks(document, kept)
        allowed = {one.plain for one in _items(document.at(*ALLOW))}
        more = [one for one in _rules() if one not in allowed | set(kept.added)]
        if more:
            kept.made += document.add(ALLOW, list(more))
            kept.added += more
        permissions = State.ADDED if more else State.ALREADY
        return Edited(document.text, [("hooks", hooks), ("permissions", permissions)])

    def strip(self, text: str | None, kept: Kept) -> Edited:
        """Without any hook that runs homi, and without the leave that homi gave."""
        states = dict.fromkeys(self.parts, State.ABSENT)
        if text is None:
            return Edited(None, list(states.items()))
        document = Document(text)
        for path in reversed(list(_hooks(document))):
            group = document.at(*path[:-1])
            if group is not None and len(group.entries) == 1:
                path = path[:-2]  # a group of nothing but this
            document.cut(path[:-1], int(path[-1]))
            states["hooks"] = State.REMOVED
        given = set(kept.added or _rules())
        for at, one in reversed(list(enumerate(_items(document.at(*ALLOW))))):
            if one.plain in given:
                document.cut(ALLOW, at)
                states["permissions"] = State.REMOVED
        for made in sorted(kept.made, key=len, reverse=True):
            document.drop(tuple(made), empty=True)
        return Edited(document.text, list(states.items()))

    def calls(self, text: str) -> list[tuple[str, list[str]]]:
        """Each hook that runs homi."""
        document = Document(text)
        commands = (document.at(*path, "command") for path in _hooks(document))
        return [("hooks", program.split(str(one.plain))) for one in commands if one]

    def paste(self) -> str:
        """Hooks and leave as an object of settings."""
        events = {name: [self._entry(word)] for name, word in EVENTS.items()}
        return _plain({"hooks": events, ALLOW[0]: {ALLOW[1]: _rules()}})

    def alone(self, target: File) -> AbstractContextManager[None]:
        """The client writes its settings only where a person changes them in it."""
        return nullcontext()

    def _add_hooks(self, document: Document, kept: Kept) -> State:
        """The hooks that are missing; those that call homi another way are changed."""
        state = State.ALREADY
        there = {path[1] for path in _hooks(document)}
        for event, word in reversed(EVENTS.items()):
            if event not in there:
                kept.made += document.add(("hooks", event), [self._entry(word)])
                state = State.ADDED
        for path in list(_hooks(document)):
            command = document.at(*path, "command")
            wanted = self._hook(EVENTS[str(path[1])])
            if command is not None and command.plain != wanted:
                document.change(command, wanted)
                state = State.UPDATED if state is State.ALREADY else state
        return state

    def _hook(self, word: str) -> str:
        """The command of a hook, as a shell reads it."""
        return shlex.join([*self._command, "hook", word])

    def _entry(self, word: str) -> dict[str, object]:
        """One hook as the client wants it."""
        one = {"type": "command", "command": self._hook(word), "timeout": TIMEOUT}
        return {"hooks": [one]}


class Servers:
    """The client's own state file, in which its servers for all folders stand."""

    name = ".claude.json"
    parts: tuple[str, ...] = ("tools",)
    backup = True

    def __init__(self, config: File, command: Sequence[str]) -> None:
        """command: what a command of homi's begins with."""
        self.path = state_file(config)
        self._command = [*command, "mcp"]

    def add(self, text: str | None, kept: Kept) -> Edited:
        """One server called homi.  Unsafe (65) where another has that name."""
        document = Document(EMPTY if text is None else text)
        there = document.at(SERVERS, NAME)
        if there is None:
            kept.made += document.put((SERVERS, NAME), self._server())
            return Edited(document.text, [("tools", State.ADDED)])
        found = _command(there)
        if found == self._command:
            return Edited(text, [("tools", State.ALREADY)])
        if not program.calls(found, "mcp"):
            raise Unsafe(TAKEN)
        self._renew(document)
        return Edited(document.text, [("tools", State.UPDATED)])

    def strip(self, text: str | None, kept: Kept) -> Edited:
        """Without the server called homi, if it is homi."""
        document = Document(EMPTY if text is None else text)
        there = document.at(SERVERS, NAME)
        if text is None or there is None or not program.calls(_command(there), "mcp"):
            return Edited(text, [("tools", State.ABSENT)])
        document.drop((SERVERS, NAME))
        for path in kept.made:
            document.drop(tuple(path), empty=True)
        return Edited(document.text, [("tools", State.REMOVED)])

    def calls(self, text: str) -> list[tuple[str, list[str]]]:
        """The server called homi, if it is homi."""
        there = Document(text).at(SERVERS, NAME)
        words = _command(there) if there is not None else []
        return [("tools", words)] if program.calls(words, "mcp") else []

    def paste(self) -> str:
        """The server in its list."""
        return _plain({SERVERS: {NAME: self._server()}})

    @contextmanager
    def alone(self, target: File) -> Iterator[None]:
        """Hold the client's own lock: every session writes this file.  NotReached (75)
        where one does not let go of it."""
        lock = target.with_name(target.name + ".lock")
        until = time.monotonic() + place.PATIENCE
        while True:
            try:
                lock.mkdir()
                break
            except FileExistsError:
                if time.monotonic() > until:
                    raise NotReached(
                        f"a session writes {target}: {lock} is there",
                        hint=f"try it again; if no session runs: rmdir {lock}",
                    ) from None
            time.sleep(place.PAUSE)
        try:
            yield
        finally:
            lock.rmdir()

    def _server(self) -> dict[str, object]:
        """As the client's own `mcp add --scope user` writes it."""
        return {
            "type": "stdio",
            "command": self._command[0],
            "args": self._command[1:],
            "env": {},
        }

    def _renew(self, document: Document) -> None:
        """Another command for homi's own server; what else stands in it stays."""
        for key, what in (("command", self._command[0]), ("args", self._command[1:])):
            value = document.at(SERVERS, NAME, key)
            if value is None:
                document.put((SERVERS, NAME, key), what)
            else:
                document.change(value, what)


def _usual() -> File:
    """The folder of a client that was told nothing."""
    return File.home() / ".claude"


def _rules() -> list[str]:
    """The client's names of homi's tools."""
    return [f"mcp__{NAME}__{tool}" for tool in TOOLS]


def _items(value: Value | None) -> list[Value]:
    """What an array holds; nothing where there is none."""
    return [one.value for one in value.entries] if value else []


def _hooks(document: Document) -> Iterator[Path]:
    """Where each hook stands that runs homi for its event."""
    for event, word in EVENTS.items():
        for at, group in enumerate(_items(document.at("hooks", event))):
            for inner, one in enumerate(_items(group.get("hooks"))):
                command = one.get("command")
                text = command.plain if command else None
                known = program.split(text) if isinstance(text, str) else []
                if program.calls(known, "hook", word):
                    yield "hooks", event, at, "hooks", inner


def _command(server: Value) -> list[str]:
    """The words by which a server is started."""
    command, args = server.get("command"), server.get("args")
    return [str(one.plain) for one in (*([command] if command else []), *_items(args))]


def _plain(what: object) -> str:
    """JSON for a person to paste."""
    return json.dumps(what, indent=2)
