"""The verb of the quarantine: let in again what was refused, or throw it away.

Owns the way back of a refused message: through the gate as it was, under the rights
of who lets it in.  homi-queue(1) states the rules.
"""

import asyncio
from collections.abc import Callable
from typing import TypeVar

import msgspec

from homi.address import Name
from homi.admitted import Readmitted, ReadmittedRow
from homi.doors.answers import Doer, Reply
from homi.doors.office import Office
from homi.doors.rights import Rights
from homi.envelope import Msg, Via
from homi.errors import BadMessage, HomiError, NoInput, StorageFailed
from homi.postmaster import Result, Stamp, Submission
from homi.requests import Quarantine, Request
from homi.store.refusals import Kept, pick
from homi.strict import parse_msg

Found = TypeVar("Found")

# Refused for its sender, who was judged before anything else.
_SIGNED_WRONG = "not-allowed"
_UNKNOWN = "no-such-name"


class Readmission:
    """What one caller lets in or throws away."""

    def __init__(self, office: Office, rights: Rights) -> None:
        """Files are read and written beside the loop."""
        self._office = office
        self._rights = rights

    def doers(self) -> dict[type[Request], Doer]:
        """The verbs done here."""
        return {Quarantine: self._quarantine}

    def _quarantine(self, request: Quarantine, reply: Reply) -> None:
        """Find the entries, then do with them what is asked."""
        if request.do == "drop":
            self._rights.need_person("quarantine drop")
        ids = list(dict.fromkeys(request.ids))
        answers = _Answers(ids, request.i, reply)

        def found(entries: dict[str, Kept]) -> None:
            for one in ids:
                if one not in entries:
                    answers.failed(one, NoInput(f"no entry {one[:64]} in quarantine"))
            if request.do == "drop":
                self._remove(list(entries), answers)
            else:
                self._release(entries, answers)

        root = self._office.root
        _beside(lambda: pick(root, ids), found, answers.broken)

    def _release(self, entries: dict[str, Kept], answers: "_Answers") -> None:
        """Submit each; take away what was stored once all are answered."""
        stored: list[str] = []
        left = len(entries)

        def settle(one: str, result: Result | None, error: HomiError | None) -> None:
            nonlocal left
            left -= 1
            if error is not None:
                answers.failed(one, error)
            elif result is not None:
                stored.append(one)
                answers.stored(one, result)
            if not left:
                self._remove(stored, answers)

        if not entries:
            answers.done()
        for one, kept in list(entries.items()):
            self._submit(one, kept, settle)

    def _submit(
        self,
        one: str,
        kept: Kept,
        settle: Callable[[str, Result | None, HomiError | None], None],
    ) -> None:
        """Give one message to the postmaster as its door did."""
        postmaster = self._office.postmaster
        try:
            head, via = _message(kept)
            self._check_sender(kept, head, via)
        except HomiError as error:
            settle(one, None, error)
            return
        if kept.entry.reason == _SIGNED_WRONG:
            via = msgspec.structs.replace(via, verified=False)
        to = kept.entry.to or head.to
        if postmaster.holds(head, kept.data):
            settle(one, Result(head.id, kept=True, to=Name(to), duplicate=True), None)
            return
        stamp = Stamp(via)
        stamp.set_aside = True
        postmaster.accept(
            Submission(
                head,
                kept.data,
                stamp,
                to,
                lambda result: settle(one, result, result.error),
            )
        )

    def _check_sender(self, kept: Kept, head: Msg, via: Via) -> None:
        """Raise where nobody may have signed so: a door judges this first, so that
        a refusal for anything else says that the sender was right."""
        reason = kept.entry.reason
        if reason not in (_SIGNED_WRONG, _UNKNOWN) or self._rights.may_sign(head):
            return
        measured = via.door in ("homi", "peer") or (via.session and via.verified)
        if reason == _UNKNOWN and measured:
            return
        raise self._rights.not_yours(head.from_)

    def _remove(self, ids: list[str], answers: "_Answers") -> None:
        """Take entries away; the answer comes behind it."""
        if not ids:
            answers.done()
            return
        remove = self._office.postmaster.quarantine.remove
        wanted = frozenset(ids)
        _beside(lambda: remove(wanted), lambda _: answers.done(), answers.broken)


class _Answers:
    """The rows of one answer, in the order of the ids."""

    def __init__(self, ids: list[str], i: int, reply: Reply) -> None:
        self._rows = {one: ReadmittedRow(id=one) for one in ids}
        self._i = i
        self._reply = reply

    def failed(self, one: str, error: HomiError) -> None:
        """Nothing was done with it."""
        self._rows[one] = ReadmittedRow(
            id=one, code=error.code, error=error.text, hint=error.hint
        )

    def stored(self, one: str, result: Result) -> None:
        """It is in a mailbox."""
        self._rows[one] = ReadmittedRow(
            id=one,
            message=result.id,
            to=result.to,
            duplicate=result.duplicate,
        )

    def done(self) -> None:
        """All rows are made."""
        self._reply(self._i, Readmitted(rows=list(self._rows.values())))

    def broken(self, error: OSError | HomiError) -> None:
        """The files could not be read or written."""
        if isinstance(error, OSError):
            why = error.strerror or "input/output error"
            error = StorageFailed(f"cannot change quarantine/: {why}")
        self._reply(self._i, error)


def _message(kept: Kept) -> tuple[Msg, Via]:
    """The message of an entry and its postmark; BadMessage (65) where it is none."""
    entry = kept.entry
    if not kept.data:
        raise BadMessage("its text was not kept, only that it was refused")
    if entry.file:
        raise BadMessage(
            "a piece that was cut out or set aside is no message",
            hint=f"homi quarantine show {entry.id}",
        )
    try:
        head = parse_msg(kept.data)
    except BadMessage as error:
        raise BadMessage(
            f"no message that could be stored: {error.text}",
            hint=f"homi quarantine show {entry.id}",
        ) from error
    if kept.via is None:
        raise BadMessage("nothing is known of how it came in")
    return head, kept.via


def _beside(
    work: Callable[[], Found],
    done: Callable[[Found], None],
    failed: Callable[[OSError | HomiError], None],
) -> None:
    """Do work in a thread, then done or failed on the loop; other errors are bugs."""

    def told(future: asyncio.Future[Found]) -> None:
        error = future.exception()
        if error is None:
            done(future.result())
        elif isinstance(error, OSError | HomiError):
            failed(error)
        else:
            raise error

    asyncio.get_running_loop().run_in_executor(None, work).add_done_callback(told)
