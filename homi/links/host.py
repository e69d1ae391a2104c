"""What is dialled: its form, its parts, and how ssh is told of it.

Pure.  homi-link(1) says what a host may be.
"""

import re
import shlex

# What ssh would read as an option, or split in two, is no host.
_HOST = re.compile(r"[^\s\x00-\x1f\x7f-][^\s\x00-\x1f\x7f]{0,254}")


def is_host(text: str) -> bool:
    """Whether ssh takes text for one host, and for nothing else."""
    return _HOST.fullmatch(text) is not None


def parts(given: str) -> tuple[str, str, int]:
    """User, host and port of [user@]host[:port] or an alias; empty what is not said."""
    user, _, host = given.rpartition("@")
    head, colon, port = host.rpartition(":")
    if colon and port.isdecimal() and (":" not in head or head.endswith("]")):
        return user, head.strip("[]"), int(port)
    return user, host, 0


def argv(given: str) -> list[str]:
    """The arguments by which ssh dials given: it takes no port behind a colon."""
    user, host, port = parts(given)
    if not port:
        return [given]
    return ["-p", str(port), f"{user}@{host}" if user else host]


def typed(given: str) -> str:
    """The same as a person types it, behind ssh."""
    return shlex.join(argv(given))
