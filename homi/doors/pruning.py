"""The verb prune: old closed segments of mailboxes, and blobs nobody names, removed.

Owns who may, and how old is old enough; the store does it.  homi-prune(1) states the
rules.
"""

from homi.address import OWNER, Name, parse_name
from homi.clock import Clock, rfc3339
from homi.doors.answers import Doer, Reply
from homi.doors.office import Office
from homi.doors.rights import Rights
from homi.errors import HomiError, StorageFailed, Usage
from homi.reports import Pruned, PrunedRow
from homi.requests import CallerClass, Prune, Request
from homi.store.prune import DAY, LEAST
from homi.store.unnamed import ROW, awaited


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
        before = max(0.0, self._clock.wall() - request.older_s)
        store, i = self._office.store, request.i
        of_blobs = list[PrunedRow]()

        def done(rows: list[PrunedRow], error: OSError | None) -> None:
            if error is not None and not rows:
                reply(i, _unread("archive", error))
            else:
                reply(i, Pruned(rows=[*rows, *of_blobs]))

        def cleared(rows: list[PrunedRow], error: OSError | None) -> None:
            # Before the mail: as a dry run, it counts what is still kept.
            of_blobs.extend(rows)
            if error is not None:
                told = _unread("blobs", error)
                of_blobs.append(PrunedRow(name=ROW, code=told.code, error=told.text))
            store.prune(names, rfc3339(before), done)

        if request.name is not None:
            store.prune(names, rfc3339(before), done)
        elif moving := self._coming():
            cleared([PrunedRow(name=ROW, note=awaited(moving))], None)
        else:
            store.clear(before, cleared)

    def _coming(self) -> list[Name]:
        """The names that came from another device, and not all of them yet."""
        claims = self._office.names.all()
        return sorted(one.name for one in claims if one.came and one.came.manifest)

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


def _unread(what: str, error: OSError) -> HomiError:
    """What the disk refused, before anything was removed."""
    why = error.strerror or "input/output error"
    return StorageFailed(f"cannot read the {what}: {why}")
