"""What is told of commands: on the control socket and by `homi command`.

Owns the fields, which only grow.  homi-command(1) explains each.
"""

import msgspec


class CommandRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """One name that is bound to a command."""

    name: str
    label: str  # the template, or the program
    state: str = "idle"  # idle | busy | held | missing
    session: str = ""  # of its client
    cwd: str = ""
    argv: list[str] = []
    path: str = ""  # where its programs are looked for
    run: str = ""  # the folder of its last run
    at: str = ""  # RFC 3339: when that began
    end: str = ""  # what became of that; empty: it goes on
    failure: str = ""  # what is missing


class CommandDone(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was done with the binding of a name."""

    name: str
    done: str  # bind | unbind | resume
    label: str
    id: str  # of the binding
    session: str = ""
    cwd: str = ""
    fresh: bool = False  # the name was claimed with it
