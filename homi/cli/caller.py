"""Who runs this command, and which mailbox is meant when none is named.

Owns the one answer for all verbs: the daemon's while it runs, else the same rules
over the same facts.  homi-address(7) states them.
"""

import os
from pathlib import Path
from typing import NamedTuple

from homi import config, paths
from homi.address import OWNER, Name, fold
from homi.cli.output import note
from homi.connection import Connection
from homi.dial import Absent
from homi.errors import Usage, VersionMismatch
from homi.mail.places import Places
from homi.peers import process, registry
from homi.requests import CallerClass

SELF = "self"  # as the name in an address: the caller's own


class Self(NamedTuple):
    """The caller's class and the name a bare command of its would use."""

    caller: CallerClass
    name: Name | None = None
    session: str | None = None  # the agent client's session id

    def need(self, verb: str, usage: str = "NAME") -> Name:
        """The caller's own name; Usage (64), naming the usage, where it has none."""
        if self.name is None:
            raise Usage(
                f"{verb} needs a name: neither a session nor a person is calling",
                hint=f"homi {verb} {usage}",
            )
        return self.name

    def need_sender(self) -> Name:
        """The name this caller signs with; Usage (64) where it must say one."""
        if self.name is None:
            raise Usage(
                "who writes? neither a session nor a person at a terminal calls",
                hint="--from NAME, one of homi ls",
            )
        return self.name


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

    Files can be read beside a daemon of another version, so that is only noted.
    """
    try:
        client = Connection(root)
    except Absent:
        return measure(root), None
    except VersionMismatch as error:
        note(error.text)
        return measure(root), None
    welcome = client.welcome
    name = None if welcome.name is None else Name(welcome.name)
    return Self(welcome.caller, name), client


def measure(root: Path) -> Self:
    """Who calls, from this process itself and the names of root."""
    chain = process.ancestors(os.getpid())
    for folder in config.load(paths.config_file()).registry_folders():
        for pid in chain:
            record = registry.read_record(str(folder / "sessions"), pid)
            if isinstance(record, registry.Record) and _lives(pid, record):
                name = fold(record.name)
                if name is not None:
                    name = Places(root, note).shown().public(name)
                return Self(CallerClass.SESSION, name, record.session_id or None)
    # An unreadable environment hides what started us: then we are no person.
    if process.agent_variables(os.getpid()) is False and process.has_terminal(
        os.getpid()
    ):
        return Self(CallerClass.PERSON, OWNER)
    return Self(CallerClass.SERVICE)


def _lives(pid: int, record: registry.Record) -> bool:
    """Whether the record is of the process that has this pid now."""
    return record.proc_start is None or process.alive(pid, record.proc_start)
