"""A machine whose answers are given, and facts about a root of its own."""

import json
from pathlib import Path

import msgspec

from homi.doctor.check import Check, Grade, Row, examine
from homi.doctor.facts import Daemon, Facts
from homi.doctor.machine import Machine, Ran
from homi.linked import LinkRow, LinkRows
from homi.reports import (
    Listing,
    NameRow,
    QueueReport,
    QueueRow,
    SessionRow,
    StatusReport,
)
from homi.store import pickup
from homi.store.pickup import Spooled
from homi.woken import WakeRow, WakeRows

ID = "0199f3a2-61b4-7c7e-9d0e-aaaa00000001"
AT = "2026-11-30T01:02:03.000Z"


class Given(Machine):
    """This machine, but for what a test gives."""

    def __init__(self, **given: object) -> None:
        """given: the answer of each method of that name."""
        super().__init__()
        self.given = given

    def now(self) -> float:
        return self.given.get("now", 1796000000.0)  # type: ignore[return-value]

    def run(self, *argv: str) -> Ran:
        said = self.given.get("run")
        return super().run(*argv) if said is None else Ran(0, str(said))

    def which(self, name: str) -> str:
        return str(self.given.get(name, super().which(name)))

    def free(self, path: Path) -> int:
        return self.given.get("free", super().free(path))  # type: ignore[return-value]

    def files(self, pid: int) -> tuple[int, int]:
        return self.given.get("files", (10, 4096))  # type: ignore[return-value]

    def files_most(self) -> int:
        return self.given.get("files_most", 65536)  # type: ignore[return-value]

    def python_of(self, pid: int) -> str:
        return str(self.given.get("python_of", ""))

    def python(self) -> tuple[int, ...]:
        return self.given.get("python", super().python())  # type: ignore[return-value]

    def requirements(self) -> list[str]:
        return self.given.get("requirements", [])  # type: ignore[return-value]


def facts(root: Path, machine: Machine | None = None) -> Facts:
    """Facts without a daemon."""
    return Facts(root, machine or Given())


def told(
    root: Path,
    machine: Machine | None = None,
    *,
    names: list[NameRow] | None = None,
    sessions: list[SessionRow] | None = None,
    links: list[LinkRow] | None = None,
    queue: list[QueueRow] | None = None,
    wakes: list[WakeRow] | None = None,
    **status: object,
) -> Facts:
    """Facts with a daemon that says so."""
    plain = {"software": "homi 0.1.0", "accept": "open", "ring_mib": 64} | status
    made = facts(root, machine)
    made.daemon = Daemon(
        answered_ms=1.0,
        status=StatusReport(
            device="here",
            pid=1,
            since="",
            root=str(root),
            names=2,
            sessions=0,
            pending=0,
            connections=0,
            free_mib=1,
            **plain,  # type: ignore[arg-type]
        ),
        listing=Listing(device="here", names=names or [], sessions=sessions or []),
        links=LinkRows(links or []),
        queue=QueueReport(queue or []),
        wakes=WakeRows(wakes or []),
    )
    return made


def look(checks: tuple[Check, ...], name: str, seen: Facts) -> list[Row]:
    """What the check of that name says."""
    (check,) = (one for one in checks if one.name == name)
    return list(examine([check], seen))


def bad(checks: tuple[Check, ...], name: str, seen: Facts) -> Row:
    """The one thing that it found wrong."""
    found = [row for row in look(checks, name, seen) if row.grade is not Grade.OK]
    assert len(found) == 1, found
    assert found[0].fix or found[0].hand, found
    return found[0]


def fine(checks: tuple[Check, ...], name: str, seen: Facts) -> None:
    """The positive control: it finds nothing."""
    assert {row.grade for row in look(checks, name, seen)} == {Grade.OK}


def spool(root: Path, **more: object) -> Path:
    """One submission that waits, with more fields in its message."""
    msg = {"id": ID, "from": "bob", "to": "ada", "text": "t"} | more
    raw = msgspec.Raw(json.dumps(msg).encode())
    made = Spooled(at=AT, caller="person", uid=1, pid=1, msg=raw)
    return pickup.write(root, made)
