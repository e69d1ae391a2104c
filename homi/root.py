"""Where the state root is: one rule for the daemon and for every command.

Standard library only, and little of it: the path of `homi send` stands on this.
"""

import os

from homi.errors import BadConfig


def state_root(home: str = "") -> str:
    """home if given, else $HOMI_HOME, else $XDG_STATE_HOME/homi, else
    ~/.local/state/homi; BadConfig (78) where a variable is not absolute.

    A relative variable would mean another, silent mailbox in every folder; an option
    on the command line is typed where it is meant.
    """
    if home:
        return os.path.abspath(os.path.expanduser(home))
    if chosen := _absolute("HOMI_HOME"):
        return chosen
    base = _absolute("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return os.path.join(base, "homi")


def _absolute(variable: str) -> str:
    """The path in a variable, empty where there is none."""
    value = os.path.expanduser(os.environ.get(variable, ""))
    if value and not os.path.isabs(value):
        raise BadConfig(
            f"{variable} is {value!r}, which is not an absolute path",
            hint=f"set {variable} to the whole path of the folder",
        )
    return os.path.normpath(value) if value else ""
