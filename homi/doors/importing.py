"""The verb import: messages of before, into a mailbox.

Owns the postmark of what a file tells: it is history, proven by nothing, and what was
finished is never handed over.  homi-queue(1) states the rules.
"""

from collections.abc import Callable
from functools import partial

from homi.address import Name, is_name, show
from homi.admitted import Imported, ImportedRow
from homi.doors.answers import Doer, Reply
from homi.doors.office import Office
from homi.doors.rights import Rights
from homi.envelope import Rung, Via
from homi.errors import BadMessage, HomiError
from homi.gate import HISTORY
from homi.postmaster import Result, Stamp, Submission
from homi.requests import Import, Past, Request
from homi.strict import parse_msg

# It may have been read where it was: a session is told so.
_GIVEN = frozenset({Rung.INTENT, Rung.OFFERED, Rung.TAKEN})


class Importing:
    """What one caller brings in."""

    def __init__(self, office: Office, rights: Rights) -> None:
        """Holds no state of its own."""
        self._office = office
        self._rights = rights

    def doers(self) -> dict[type[Request], Doer]:
        """The verbs done here."""
        return {Import: self._import}

    def _import(self, request: Import, reply: Reply) -> None:
        """Submit each message; the answer comes when all are durable or refused."""
        name = self._rights.mailbox(request.name)
        if (refusal := self._rights.refusal(name)) is not None:
            raise refusal
        rows = [ImportedRow() for _ in request.letters]
        left = len(rows)

        def settle(at: int, row: ImportedRow) -> None:
            nonlocal left
            rows[at] = row
            left -= 1
            if not left:
                reply(request.i, Imported(name=name, rows=rows))

        if not rows:
            reply(request.i, Imported(name=name, rows=rows))
        by = (self._rights.caller.uid, self._rights.caller.pid)
        for at, past in enumerate(request.letters):
            bring(self._office, name, past, by, partial(settle, at))


def bring(
    office: Office,
    name: Name,
    past: Past,
    by: tuple[int, int],
    settle: Callable[[ImportedRow], None],
) -> None:
    """One message: refused, there already, or submitted; settle comes once.  by: the
    uid and pid of who brings it."""
    raw = bytes(past.msg)
    try:
        head = parse_msg(raw)
        if not is_name(head.from_):
            raise BadMessage(f"{show(head.from_)} is not a name to be from")
    except BadMessage as error:
        settle(_refused("", error))
        return
    seq = office.store.mailbox(name).seq_of(head.id)
    if seq is not None:
        settle(ImportedRow(id=head.id, seq=seq, duplicate=True))
        return
    stamp = Stamp(_via(past, by))
    stamp.set_aside = True  # the file it came from is still there
    sub = Submission(head, raw, stamp, name, lambda r: settle(_row(r)))
    office.postmaster.accept(sub)


def _via(past: Past, by: tuple[int, int]) -> Via:
    """The postmark: who imports, and what the file says it was."""
    uid, pid = by
    device = (past.was.via or {}).get("device")
    known = isinstance(device, str) and is_name(device)
    return Via(
        door=HISTORY,
        device=device if known else None,
        uid=uid,
        pid=pid,
        repeat=past.was.rung in _GIVEN,
        was=past.was,
    )


def _row(result: Result) -> ImportedRow:
    """What became of a submission."""
    if result.error is not None:
        return _refused(result.id, result.error)
    return ImportedRow(id=result.id, seq=result.seq, duplicate=result.duplicate)


def _refused(message: str, error: HomiError) -> ImportedRow:
    """Why a message is not stored."""
    return ImportedRow(id=message, code=error.code, error=error.text, hint=error.hint)
