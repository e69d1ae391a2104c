"""What is told of a move: the plan of it, and what it came to.

Owns the fields of these answers, which only grow.  homi-protocol(7) is the page.
"""

import msgspec


class MovePlan(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a move would do, as both devices see it."""

    name: str
    here: str  # the device it leaves
    device: str  # where it goes
    to: str  # what it is called there
    fork: bool = False
    generation: int = 0  # that the claim there will have, or more
    cwd: str = ""  # its folder here
    cwd_there: str = ""
    history: int = 0  # finished messages that are copied
    pending: int = 0  # those that are forwarded
    conversation: str = ""  # that is copied
    branch: str = ""
    commit: str = ""
    notes: list[str] = []  # what a person should know before


class MoveDone(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Answer to move."""

    name: str
    device: str
    to: str
    done: str  # planned, moved, forked, aborted, or moving: it is not at its end
    plan: MovePlan | None = None
    generation: int = 0  # of the claim, where it is now
    history: int = 0  # messages that were copied
    history_there: int = 0  # of these, those that stand there
    forwarded: int = 0  # messages that went on as mail
    waiting: int = 0  # of these, those that are still on their way
    notes: list[str] = []
