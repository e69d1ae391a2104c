"""The verb prune: old closed segments of mailboxes, removed.

Owns who may, and how old is old enough; the store does it.  homi-queue(1) states the
rules.
"""

from homi.address import OWNER, Name, parse_name
from homi.clock import Clock, rfc3339
from homi.doors.answers import Doer, Reply
from homi.doors.office import Office
from homi.doors.rights import Rights
from homi.errors import StorageFailed, Usage
from homi.reports import Pruned, PrunedRow
from homi.requests import CallerClass, Prune, Request
from homi.store.prune import DAY, LEAST


class Pruning:
    """What one caller has removed."""

    def __init__(self, office: Office, rights: Rights, clock: Clock) -> None:
        """Holds no state of its own."""
        self._office = office
        self._rights = rights
        self._clock = clock

    def doers(self) -> dict[type[Request], Doer]:
        """The verbs done here."""
        return {Prune: self._prune}

    def _prune(self, request: Prune, reply: Reply) -> None:
        """Answered when what could go has gone, durably."""
        if request.older_s < LEAST:
            raise Usage(f"nothing under {LEAST // DAY} days is old enough to remove")
        names = self._names(request.name)
        i = request.i

        def done(rows: list[PrunedRow], error: OSError | None) -> None:
            if error is not None and not rows:
                why = error.strerror or "input/output error"
                reply(i, StorageFailed(f"cannot read the archive: {why}"))
            else:
                reply(i, Pruned(rows=rows))

        before = rfc3339(max(0.0, self._clock.wall() - request.older_s))
        self._office.store.prune(names, before, done)

    def _names(self, given: str | None) -> list[Name]:
        """The mailbox that is meant, or all that this caller may prune."""
        there = {box.name for box in self._office.store.mailboxes()}
        if given is None:
            if self._rights.caller.caller is not CallerClass.PERSON:
                there.discard(Name(OWNER))
            return sorted(there)
        name = parse_name(given)
        if name in there and name != OWNER:
            return [name]
        return [self._rights.own_mailbox(given, "prune")]
