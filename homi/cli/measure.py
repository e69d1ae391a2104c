"""What the commands themselves measure: which sockets answer, which sessions live.

Owns the facts beside what the daemon says, each with when it was true.  Changes
nothing; sends no byte to any socket.  homi-ls(1) lists the facts.
"""

import os
from collections.abc import Iterable, Iterator

from homi import config, paths
from homi.address import RESERVED, fold
from homi.clock import stamp_of
from homi.peers import process, registry
from homi.peers.probe import Probe, probe
from homi.peers.sockets import stands_for_a_name
from homi.render import fields
from homi.reports import Listing, NameRow, SessionRow

SILENT = "silent"  # a session lives, or is said to, and its socket does not answer


class Measured:
    """The answers of sockets; empty, with --no-probe."""

    def __init__(self, found: dict[str, Probe]) -> None:
        """found by path."""
        self._found = found

    @property
    def asked(self) -> int:
        """How many sockets were asked."""
        return len(self._found)

    def of(self, socket: str) -> Probe:
        """What was measured at socket; answers None where nothing was."""
        return self._found.get(socket, Probe(None))

    def state(self, row: NameRow) -> str:
        """The state of a name; never live where the session does not answer."""
        if row.owner is not None and self.of(row.owner.socket).answers is False:
            return SILENT
        return row.state

    def answers(self, row: NameRow) -> Probe:
        """The socket that mail for the name goes to: its session's, else homi's."""
        return self.of(row.owner.socket if row.owner else row.socket)

    def note(self, row: NameRow) -> str:
        """What a person should know of the name, with what was measured."""
        notes = [row.note] if row.note else []
        if row.others:
            pids = ", ".join(map(str, row.others))
            also = "also " if row.owner else ""
            notes.append(f"{also}the name of pid {pids}")
        if row.owner is not None and (why := self.silent(row.owner.socket)):
            notes.append(f"its session does not answer ({why})")
        if why := self.silent(row.socket):
            notes.append(f"homi's own socket does not answer ({why})")
        return "; ".join(notes)

    def json_of(self, row: NameRow) -> dict[str, object]:
        """A name for a program: every field, and what was measured beside them."""
        owner = None if row.owner is None else self.json_of_session(row.owner)
        return {
            "kind": "name",
            **fields(row),
            "state": self.state(row),
            "owner": owner,
            "probe": self.of(row.socket),
        }

    def json_of_session(self, row: SessionRow) -> dict[str, object]:
        """A session for a program."""
        return {**fields(row), "probe": self.of(row.socket)}

    def silent(self, socket: str) -> str:
        """Why socket does not answer; empty where it does, or was not asked."""
        found = self.of(socket)
        return found.why if found.answers is False else ""


def measure(listing: Listing, *, asked: bool) -> Measured:
    """Ask every socket of listing, now; not asked: none of them."""
    return Measured(probe(_sockets(listing)) if asked else {})


def live_sessions() -> list[SessionRow]:
    """The sessions whose record stands for a live process: for when no daemon runs."""
    domain = process.pid_domain()
    rows: dict[int, SessionRow] = {}
    folders = config.load(paths.config_file()).registry_folders()
    for folder in dict.fromkeys(map(os.path.realpath, folders)):
        for pid, record in registry.read_records(f"{folder}/sessions").items():
            if isinstance(record, registry.Torn) or record.hidden:
                continue
            start = process.start_time(pid) if pid < 1 << 22 else None
            same = record.pid_domain in (None, domain)
            if same and start is not None and record.proc_start in (None, start):
                rows.setdefault(pid, _row(pid, record, folder))
    return [rows[pid] for pid in sorted(rows)]


def _row(pid: int, record: registry.Record, folder: str) -> SessionRow:
    """A session as its record tells it."""
    address = fold(record.name)
    return SessionRow(
        pid=pid,
        name=record.name,
        address="" if address is None or address in RESERVED else address,
        session=record.session_id,
        status=record.status,
        cwd=record.cwd,
        version=record.version,
        reachable=bool(record.socket),
        socket="" if stands_for_a_name(record.socket) else record.socket,
        status_at=stamp_of(record.status_at),
        waiting_for=record.waiting_for,
        record=f"{folder}/sessions/{pid}.json",
    )


def _sockets(listing: Listing) -> Iterator[str]:
    """Sessions first: where the time is short, homi's own can wait."""
    yield from _of_sessions(row.owner for row in listing.names)
    yield from _of_sessions(listing.sessions)
    for row in listing.names:
        yield row.socket


def _of_sessions(rows: Iterable[SessionRow | None]) -> Iterator[str]:
    """The sockets of those there are."""
    for row in rows:
        if row is not None:
            yield row.socket
