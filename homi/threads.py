"""What is told of Codex threads: on the control socket and by `homi codex`.

Owns the fields, which only grow.  homi-codex(1) explains each.
"""

import msgspec


class ThreadRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thread that some client has open."""

    thread: str
    status: str = ""  # idle | busy | waiting
    cwd: str = ""
    title: str = ""  # what Codex calls it
    name: str = ""  # whose mail goes to it
    home: str = ""


class Peered(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a name was bound to, or was before."""

    name: str
    done: str  # peer | unpeer
    thread: str
    home: str = ""
    cwd: str = ""
    fresh: bool = False  # the name was claimed with it
