"""What the daemon counts while it works, and what it measures when it is asked.

Owns the counters; all else is looked up in the parts.  homi-metrics(1).
"""

from collections import Counter
from collections.abc import Iterator

from homi import __version__
from homi.address import Name
from homi.clock import parse_rfc3339
from homi.doors.office import Office
from homi.envelope import LedgerLine
from homi.measures import Sample
from homi.store.mailbox import Item, Mailbox


class Meters:
    """Counters since the start; a count costs less than a tenth of a microsecond."""

    def __init__(self, office: Office) -> None:
        """Nothing was counted yet."""
        self._office = office
        self._stored = 0
        self._rungs: Counter[str] = Counter()

    def stored(self, _name: Name, _item: Item) -> None:
        """A message was stored."""
        self._stored += 1

    def moved(self, _name: Name, _item: Item, line: LedgerLine) -> None:
        """A message got somewhere."""
        self._rungs[line.rung] += 1

    def samples(self, now: float) -> list[Sample]:
        """All of it, at the wall time now."""
        office = self._office
        commits, seconds = office.store.commits()
        single = {
            "homi_start_time_seconds": office.since,
            "homi_accept_open": float(not office.store.closed()),
            "homi_stored_total": self._stored,
            "homi_commits_total": commits,
            "homi_commit_sync_seconds_total": round(seconds, 6),
            "homi_connections": office.connections(),
            "homi_free_bytes": office.store.free_bytes(),
            "homi_findings": len(office.findings),
        }
        told = {"version": __version__, "device": str(office.device)}
        return [
            Sample("homi_info", 1, told),
            *(Sample(name, value) for name, value in single.items()),
            *_counted("homi_refused_total", "reason", office.postmaster.refused),
            *_counted("homi_steps_total", "rung", self._rungs),
            *_waiting(office, now),
            *_links(office),
            *_sessions(office),
        ]


def _waiting(office: Office, now: float) -> Iterator[Sample]:
    """What is pending in each mailbox and each out queue."""
    rungs: Counter[str] = Counter()
    for box in office.store.mailboxes():
        label = {"name": str(box.name)}
        yield Sample("homi_pending", len(box.pending), label)
        if box.pending:
            yield Sample("homi_pending_oldest_seconds", _age(box, now), label)
        for item in box.pending.values():
            rungs[office.explain(box.name, item)[0]] += 1
    yield from _counted("homi_pending_rung", "rung", rungs)
    for queue in office.store.queues():
        label = {"device": str(queue.device)}
        yield Sample("homi_queue", len(queue.pending), label)
        if queue.pending:
            yield Sample("homi_queue_oldest_seconds", _age(queue, now), label)


def _links(office: Office) -> Iterator[Sample]:
    """The state of each."""
    for row in office.links.now(None) if office.links is not None else ():
        yield Sample("homi_link", 1, {"device": row.device, "state": row.state})


def _sessions(office: Office) -> Iterator[Sample]:
    """How many say what of themselves."""
    live = office.sessions.live.values()
    statuses = Counter(session.status or "unknown" for session in live)
    yield from _counted("homi_sessions", "status", statuses)


def _counted(name: str, label: str, counts: Counter[str]) -> Iterator[Sample]:
    """A sample of each value of a label."""
    for value, count in sorted(counts.items()):
        yield Sample(name, count, {label: str(value)})


def _age(box: Mailbox, now: float) -> float:
    """How long the oldest of it waits."""
    oldest = next(iter(box.pending.values())).at
    return round(max(0.0, now - parse_rfc3339(oldest)), 3)
