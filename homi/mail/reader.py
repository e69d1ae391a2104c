"""Who reads the files, and what of them an agent is not shown.

Owns the class of a process that asks no daemon, by the rules the daemon has, and
that mail for a person is shown to no agent.  homi-address(7) and homi-answer(1)
state the rules.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from homi import config, paths
from homi.address import OWNER, Name, fold
from homi.envelope import decode_envelope
from homi.errors import NotAllowed, StorageFailed, Usage
from homi.mail.mail import Mail
from homi.mail.places import Places, readable
from homi.peers import process, registry
from homi.requests import CallerClass
from homi.store.index import Entry, Query, Told
from homi.store.places import device_of


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
                hint="--from NAME, one that homi claim gave you",
            )
        return self.name


class ShownMail(Mail):
    """The mail as its reader may see it: a person and a program all of it, an agent
    nothing that is for a person, unless it wrote that."""

    def __init__(
        self,
        root: Path,
        note: Callable[[str], None],
        told: Told | None = None,
        me: Self | None = None,
    ) -> None:
        """As of Mail; me: who reads, None: this process, measured once it matters."""
        super().__init__(root, note, told)
        self._me = me

    def entries(self, query: Query) -> Iterator[Entry]:
        """As of every mail; an agent is shown nothing that is for a person."""
        return (one for one in super().entries(query) if not self._for_person(one))

    def line(self, entry: Entry) -> bytes:
        """As of every mail; 77 where it is for a person, and an agent reads."""
        if self._for_person(entry):
            raise NotAllowed(f"{entry.id} is for a person", hint="homi-answer(1)")
        return super().line(entry)

    def brief(self, entry: Entry, wanted: bool = True) -> str | None:
        """As of every mail; nothing of what is for a person, where an agent reads."""
        return super().brief(entry, wanted and not self._for_person(entry))

    def _for_person(self, entry: Entry) -> bool:
        """Whether it needs a person and who reads is an agent that did not write it."""
        if entry.name != OWNER and device_of(entry.name) is None:
            return False
        if self._me is None:
            self._me = measure(self.root, self.note)
        if self._me.caller is not CallerClass.SESSION:
            return False
        if entry.device is None and entry.from_ == self._me.name:
            return False
        try:
            envelope = decode_envelope(super().line(entry))
        except (StorageFailed, ValueError, RecursionError):
            return False
        msg = readable(envelope.msg)
        return msg is None or bool(msg.needs)


def measure(root: Path, note: Callable[[str], None]) -> Self:
    """Who this process is, from its ancestors and the names of root."""
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
