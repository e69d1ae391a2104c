"""The file of Codex: its config.toml.

Owns what homi writes into it, and how it is known again.  Nothing of hooks and of
notify: those are a person's own.  homi-setup(1).
"""

import json
import os
import re
import tomllib
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Any

from homi.setup import program
from homi.setup.editor import TAKEN, Edited, State
from homi.setup.jsonc import Unsafe
from homi.setup.record import Kept

NAME = "homi"
TABLE = f"mcp_servers.{NAME}"
# The client passes a server none of these by itself, and each of them says where the
# daemon is.
VARIABLES = ["HOMI_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"]
_HEADER = re.compile(r"^[ \t]*\[")
_OURS = re.compile(rf"^[ \t]*\[[ \t]*mcp_servers[ \t]*\.[ \t]*{NAME}[ \t]*[\].]")
_COMMAND = re.compile(r"^[ \t]*(command|args)[ \t]*=")


def folder() -> Path:
    """Where the client has its files unless it was told otherwise."""
    return Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex")


class Servers:
    """config.toml: homi as one of its servers.

    A library that keeps the style of TOML takes the remark in front of the next table
    for a part of ours, and would take it out with it: so the lines of the text are
    changed, and tomllib says whether that did what was meant and nothing else.
    """

    name = "config.toml"
    parts: tuple[str, ...] = ("tools",)
    backup = True

    def __init__(self, config: Path, command: Sequence[str]) -> None:
        """command: what a command of homi's begins with."""
        self.path = config / self.name
        self._command = [*command, "mcp"]

    def add(self, text: str | None, kept: Kept) -> Edited:
        """A table of its own behind all others.  Unsafe (65) where another server has
        the name."""
        text = text or ""
        there = _server(_read(text))
        if there is None:
            return Edited(self._with(text), [("tools", State.ADDED)])
        if _words(there) == self._command:
            return Edited(text, [("tools", State.ALREADY)])
        if not program.calls(_words(there), "mcp"):
            raise Unsafe(TAKEN)
        return Edited(self._renewed(text), [("tools", State.UPDATED)])

    def strip(self, text: str | None, kept: Kept) -> Edited:
        """Without the server called homi, if it is homi."""
        there = _server(_read(text or ""))
        if text is None or there is None or not program.calls(_words(there), "mcp"):
            return Edited(text, [("tools", State.ABSENT)])
        wanted = _read(text)
        del wanted["mcp_servers"][NAME]
        return Edited(_without(text, wanted), [("tools", State.REMOVED)])

    def calls(self, text: str) -> list[tuple[str, list[str]]]:
        """The server called homi, if it is homi."""
        there = _server(_read(text))
        words = _words(there) if there is not None else []
        return [("tools", words)] if program.calls(words, "mcp") else []

    def paste(self) -> str:
        """The table."""
        return self._table("\n").rstrip("\n")

    def alone(self, target: Path) -> AbstractContextManager[None]:
        """The client writes it only where a person changes a setting in it."""
        return nullcontext()

    def _fields(self) -> dict[str, object]:
        """What the table says.  No tool of homi's can change what is trusted, so none
        need be asked for; the client would refuse them where it may not ask."""
        return {
            "command": self._command[0],
            "args": self._command[1:],
            "env_vars": VARIABLES,
            "default_tools_approval_mode": "approve",
        }

    def _table(self, eol: str) -> str:
        """The lines of the table."""
        fields = [f"{key} = {_toml(what)}" for key, what in self._fields().items()]
        return "".join(line + eol for line in (f"[{TABLE}]", *fields))

    def _with(self, text: str) -> str:
        """text with the table at its end."""
        eol = "\r\n" if "\r\n" in text else "\n"
        lead = eol if text else ""
        lead += eol if text and not text.endswith("\n") else ""
        wanted = _read(text)
        servers = wanted.setdefault("mcp_servers", {})
        if not isinstance(servers, dict):
            raise Unsafe("mcp_servers is no table")
        servers[NAME] = self._fields()
        return _checked(text + lead + self._table(eol), wanted)

    def _renewed(self, text: str) -> str:
        """text with another command for homi's own server."""
        eol = "\r\n" if "\r\n" in text else "\n"
        lines = _split(text)
        ours = _lines(lines)
        for at in ours:
            if found := _COMMAND.match(lines[at]):
                key = found[1]
                lines[at] = f"{key} = {_toml(self._fields()[key])}{eol}"
        wanted = _read(text)
        wanted["mcp_servers"][NAME] |= {
            key: self._fields()[key] for key in ("command", "args")
        }
        return _checked("".join(lines), wanted)


def _without(text: str, wanted: dict[str, Any]) -> str:
    """text without homi's table, so that it says what is wanted."""
    lines = _split(text)
    ours = _lines(lines)
    heads = [at for at in sorted(ours) if _OURS.match(lines[at])]
    # What looks like the table may be a text of somebody's that stands in front of it.
    for head in heads[:-1]:
        with suppress(Unsafe):
            return _checked(_left(lines, ours, head), wanted)
    return _checked(_left(lines, ours, heads[-1] if heads else 0), wanted)


def _left(lines: Sequence[str], ours: set[int], start: int) -> str:
    """The lines that are not ours; in front of start none is."""
    some = {at for at in ours if at >= start - 1}
    return "".join(line for at, line in enumerate(lines) if at not in some)


def _lines(lines: Sequence[str]) -> set[int]:
    """The lines of homi's table and of those in it, and the blank one in front; not
    what follows the last of their keys, which may be a remark on the next table."""
    found: set[int] = set()
    inside, pending = False, set[int]()
    for at, line in enumerate(lines):
        if _HEADER.match(line) and (inside := bool(_OURS.match(line))):
            pending = {at - 1} if at and not lines[at - 1].strip() else set()
        if not inside:
            continue
        pending.add(at)
        if line.strip() and not line.lstrip().startswith("#"):
            found |= pending
            pending = set()
    return found


def _read(text: str) -> dict[str, Any]:
    """What the text says; Unsafe where it is no TOML."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also a number without end
        raise Unsafe(f"it is not TOML: {error}") from None


def _checked(text: str, wanted: dict[str, Any]) -> str:
    """text, if it says what is wanted and nothing else."""
    none: dict[str, Any] = {"mcp_servers": {}}
    with suppress(Unsafe):  # it was TOML before
        if none | _read(text) == none | wanted:
            return text
    raise Unsafe(f"its servers are written in a way that {TABLE} does not fit")


def _split(text: str) -> list[str]:
    """The lines of text with their ends; of other ends than TOML's there are none."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _server(config: dict[str, Any]) -> dict[str, Any] | None:
    """The server called homi; None where there is none."""
    servers = config.get("mcp_servers")
    found = servers.get(NAME) if isinstance(servers, dict) else None
    return found if isinstance(found, dict) else None


def _words(server: dict[str, Any]) -> list[str]:
    """The words by which a server is started."""
    args = server.get("args", [])
    return [str(server.get("command", "")), *map(str, args if args else [])]


def _toml(what: object) -> str:
    """A text or a list of texts: JSON's form of them is TOML's too, but for DEL and
    what is escaped in halves."""
    return json.dumps(what, ensure_ascii=False).replace("\x7f", "\\u007f")
