"""Who runs this command, and which mailbox is meant when none is named.

Owns the one answer for all verbs: the daemon's while it runs, else the same rules
over the same facts.  homi-address(7) states them.
"""

from pathlib import Path

from homi.address import Name
from homi.cli.output import note
from homi.connection import Connection
from homi.dial import Absent, Late, Lost
from homi.errors import Usage, VersionMismatch
from homi.mail import Self, measure

SELF = "self"  # as the name in an address: the caller's own


def own(root: Path, text: str) -> str:
    """An address, with the caller's own name where it says self; 64 where none is."""
    name, at, device = text.partition("@")
    if name.lower() != SELF:
        return text
    me, client = connect(root)
    if client is not None:
        client.close()
    if me.name is None:
        raise Usage(
            "self has no name here: neither a session nor a person is calling",
            hint="name one of homi ls",
        )
    return f"{me.name}{at}{device}"


def connect(root: Path) -> tuple[Self, Connection | None]:
    """Who calls, and the daemon; None where none runs that we understand.

    Files can be read beside a daemon of another version, and after one that died as
    it greeted, so that is only noted.
    """
    try:
        client = Connection(root)
    except Absent:
        return measure(root, note), None
    except (VersionMismatch, Lost) as error:
        if isinstance(error, Late):
            raise
        note(error.text)
        return measure(root, note), None
    welcome = client.welcome
    name = None if welcome.name is None else Name(welcome.name)
    return Self(welcome.caller, name), client
