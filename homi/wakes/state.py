"""Which wakes there are, as wakes.json keeps them.

Owns the fields of the file; when each fired last is in wakes.jsonl.  homi-mailbox(5)
lists the fields.
"""

from typing import Literal

import msgspec
from msgspec.structs import replace

from homi.errors import CannotCreate, NoInput, Usage
from homi.ids import last_part
from homi.store.lines import Finding
from homi.store.state import StateFile

WAKES_MAX = 1024  # on one device: each is a line of every listing
NAME_MAX = 32  # for one name
SESSION_MAX = 8  # for one name, made by sessions
TEXT_MAX = 16_384  # characters: all texts stand in one file
SESSION = "session"  # who made it, or let it rest

Kind = Literal["cron", "every", "at", "file", "pr", "exit"]
Missed = Literal["once", "skip", "all"]
Overlap = Literal["skip", "queue"]
TIMED = frozenset({"cron", "every", "at"})


class Trigger(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What lets a wake fire."""

    kind: Kind
    value: str  # an expression, seconds, an RFC 3339 time, a glob, OWNER/REPO, a seat
    zone: str = ""  # of an expression
    ref: str = ""  # of a seat: the very program
    socket: str = ""  # of its tmux server

    def __post_init__(self) -> None:
        """ValueError for what no trigger can be."""
        if not self.value:
            raise ValueError("a trigger says nothing")


class Wake(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A message that is sent again and again, or once."""

    id: str
    to: str  # an address
    from_: str = msgspec.field(name="from")
    text: str
    trigger: Trigger
    at: str  # RFC 3339: when it was made
    by: str  # the class of who made it
    uid: int = 0
    missed: Missed = "once"
    overlap: Overlap = "skip"
    jitter: int = 0  # s that a firing may be late on purpose, at most
    until: str = ""  # RFC 3339: it does not fire behind that
    most: int = 0  # times; 0: without end
    spawn: bool = False  # start a session where none lives
    paused: str = ""  # the class of who let it rest


class State(msgspec.Struct, kw_only=True):
    """The whole of wakes.json."""

    wakes: dict[str, Wake] = {}

    def __post_init__(self) -> None:
        """ValueError for what no wake can be."""
        if any(key != wake.id for key, wake in self.wakes.items()):
            raise ValueError("a wake is not under its id")


class Book:
    """The wakes of this device.  Each change is on disk before its call returns."""

    def __init__(self, file: StateFile[State]) -> None:
        """Load the file; findings: what was unreadable."""
        found, findings = file.load()
        self.findings: list[Finding] = findings
        self._file = file
        self._state = found or State()

    def all(self) -> list[Wake]:
        """Every wake, as they were made."""
        return list(self._state.wakes.values())

    def get(self, wake: str) -> Wake | None:
        """The wake of that whole id."""
        return self._state.wakes.get(wake)

    def find(self, given: str) -> Wake:
        """The wake that is meant: by its id, the start of the last part of it, or the
        name it is for where that has one only; NoInput (66) and Usage (64) else."""
        return meant(self.all(), given)

    def add(self, wake: Wake) -> None:
        """One more; 73 where there are too many."""
        same = [each for each in self.all() if each.to == wake.to]
        made = [each for each in same if each.by == SESSION]
        hint = "homi wake ls, homi wake rm"
        if len(self._state.wakes) >= WAKES_MAX:
            raise CannotCreate(f"there are {WAKES_MAX} wakes here, no more", hint=hint)
        if len(same) >= NAME_MAX:
            raise CannotCreate(f"{wake.to} has {len(same)} wakes, no more", hint=hint)
        if wake.by == SESSION and len(made) >= SESSION_MAX:
            raise CannotCreate(
                f"sessions made {len(made)} wakes for {wake.to}, no more", hint=hint
            )
        self._save({**self._state.wakes, wake.id: wake})

    def remove(self, *wakes: str) -> None:
        """Forget these."""
        kept = {k: v for k, v in self._state.wakes.items() if k not in wakes}
        self._save(kept)

    def pause(self, wake: str, by: str) -> Wake:
        """Let it rest, or with an empty by go on."""
        changed = replace(self._state.wakes[wake], paused=by)
        self._save({**self._state.wakes, wake: changed})
        return changed

    def _save(self, wakes: dict[str, Wake]) -> None:
        """Let the file, then the memory, hold the change; 74 leaves both as they
        were."""
        state = State(wakes=wakes)
        self._file.save(state)
        self._state = state


def meant(wakes: list[Wake], given: str) -> Wake:
    """As Book.find(), among those."""
    text = given.lower()
    found = [wake for wake in wakes if text == wake.id]
    found = found or [wake for wake in wakes if wake.to == text]
    if not found and text:
        found = [wake for wake in wakes if last_part(wake.id).startswith(text)]
    if not found:
        raise NoInput(f"no wake {given[:80]!r} here", hint="homi wake ls")
    if len(found) > 1:
        which = ", ".join(last_part(wake.id) for wake in found[:4])
        raise Usage(
            f"{given[:80]} means {len(found)} wakes", hint=f"by its id: {which}"
        )
    return found[0]
