"""What another device may learn of the messages it sent here.

Owns that a message is shown to the device it came from only, by the key of the link it
came by.  Reads the files.  homi-protocol(7) has the answers.
"""

from collections.abc import Collection, Iterable, Iterator

from homi.address import Name
from homi.envelope import SHOWN, LedgerLine, MessageId, origin
from homi.errors import StorageFailed, Usage
from homi.far import FarMissing, FarRung, FarRungs, Step, Steps
from homi.mail.life import Line, Start, life
from homi.mail.mail import Mail
from homi.store.index import Entry

STEPS_MAX = 500  # lines of one life that are told


def rungs(
    mail: Mail,
    key: str,
    ids: Iterable[MessageId],
    places: Collection[Name] | None = None,
) -> FarRungs:
    """How far those of the messages are that came by the link with that key; places:
    the only ones they are in, where that is known."""
    found = []
    for message in dict.fromkeys(ids):
        for entry in _came(mail, key, message, places):
            told = FarRung(
                id=message,
                rung=SHOWN.get(entry.rung, entry.rung),
                at=entry.changed,
                reason=entry.reason,
            )
            found.append(told)
    return FarRungs(found)


def missing(mail: Mail, ids: Iterable[MessageId]) -> FarMissing:
    """Those of the messages that are in no mailbox and no queue here, whoever brought
    them."""
    return FarMissing([one for one in ids if not any(_here(mail, one))])


def steps(
    mail: Mail, key: str, message: MessageId, places: Collection[Name] | None = None
) -> Steps:
    """What became of a message that came by the link with that key; nothing of any
    other, as of one that is not here."""
    told = [
        _step(entry.name, line)
        for entry in _came(mail, key, message, places)
        for line in life(mail, entry)
    ]
    return Steps(device="", steps=told[:STEPS_MAX])


def _came(
    mail: Mail, key: str, message: MessageId, places: Collection[Name] | None
) -> Iterator[Entry]:
    """The message in each place it is in by way of that link."""
    try:
        found = mail.find(message, places)
    except Usage:
        return  # no id
    for entry in found:
        if entry.id != message:
            continue
        try:
            via = mail.letter(entry).envelope.via
        except StorageFailed as error:
            mail.note(error.text)
            continue
        if origin(via) == f"link:{key}":
            yield entry


def _here(mail: Mail, message: MessageId) -> Iterator[bool]:
    """For each place where the message should be, whether it is."""
    for entry in mail.find(message):
        if entry.id == message:
            try:
                yield bool(mail.line(entry))
            except StorageFailed as error:
                mail.note(error.text)


def _step(place: str, line: Line) -> Step:
    """A line of a life as it is told."""
    if isinstance(line, Start):
        return Step(place, line.rung, line.at, leg=line.via.door)
    return Step(
        name=place,
        rung=line.rung,
        at=line.there or line.at,
        reason=line.reason or "",
        leg=line.leg or "",
        pid=_pid(line),
        by=line.by or "",
        proof=line.proof or "",
        repeat=line.repeat,
        until=line.until or "",
    )


def _pid(line: LedgerLine) -> int:
    """The process it was handed to."""
    return 0 if line.session is None else line.session.pid
