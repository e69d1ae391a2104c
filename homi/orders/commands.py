"""What may be asked of the daemon about commands: one struct a verb.

Owns the fields; homi.requests lists them with all others.  homi-protocol(7).
"""

from typing import Any, Literal

import msgspec

from homi.request import CallerClass, Request


class CommandBind(Request, frozen=True, tag="command-bind"):
    """Have each letter for name given to a command."""

    soon = True
    # Whoever binds decides what is run with every letter.
    callers = frozenset({CallerClass.PERSON, CallerClass.SERVICE})
    name: str
    label: str
    template: dict[str, Any]  # homi-command(1) lists the keys
    cwd: str
    args: list[str] = msgspec.field(default_factory=list)
    session: str = ""
    path: str = ""  # the PATH of who asks; empty: the daemon's


class CommandOrder(Request, frozen=True, tag="command-order"):
    """End the binding of name, or go on after failures."""

    callers = frozenset({CallerClass.PERSON, CallerClass.SERVICE})
    do: Literal["unbind", "resume"]
    name: str
