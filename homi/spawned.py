"""What is told of agents that were started or adopted.

Owns the fields, which only grow.  homi-spawn(1) explains each.
"""

import msgspec


class SpawnRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """How one name is started, and what runs for it."""

    name: str
    state: str  # ready | starting | failing | waiting | ended
    client: str
    cwd: str
    argv: list[str] = []
    on_mail: bool = False
    pid: int = 0
    seat: str = ""  # the ref of its seat
    at: str = ""  # RFC 3339: since when it is known
    started: str = ""  # RFC 3339: of what runs
    by: list[str] = []  # who ordered it, then who ordered that one
    tree: str = ""  # the worktree that was made for it
    starts: int = 0  # in the last hour
    failures: int = 0  # starts in a row that came to nothing
    said: str = ""  # of the last of these: why


class Unspawned(msgspec.Struct, frozen=True, omit_defaults=True):
    """A name that is started no more."""

    name: str
    ended: int = 0  # the process that was told to end
    tree: str = ""  # a worktree that stays


class Adopted(msgspec.Struct, frozen=True, omit_defaults=True):
    """A session that has a name now."""

    name: str
    pid: int  # 0: nobody has it open
    session: str  # its id
    was: str = ""  # what it was called
    fresh: bool = False  # the name was claimed with it
