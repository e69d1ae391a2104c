"""Questions and answers as the files tell them.

Owns which message answers a question, who may answer one, and who began a
conversation.  Reads only.  homi-ask(1) states the rules.
"""

from collections.abc import Collection

from homi.address import OWNER, POSTMASTER, Device, Name
from homi.envelope import ANSWERED_KINDS, Kind, MessageId
from homi.errors import BadMessage, NoInput, NotAllowed
from homi.gate import answerer
from homi.mail.mail import COPIES, Mail
from homi.reports import Answered, Found
from homi.store.index import Entry
from homi.store.places import device_of

ASKED_MAX = 64  # messages followed back to who began a conversation


def answer_to(mail: Mail, ask: MessageId, name: Name) -> Answered:
    """The first answer of who was asked, in the mailbox of who asked; NoInput (66)
    where there is none."""
    asked = [
        (device_of(one.name), _answerer(mail, one))
        for one in mail.index().find(ask, None, COPIES)
    ]
    for entry in mail.index().replies([ask]):
        if entry.name == name and _answers(entry, asked):
            letter = mail.letter(entry)
            via = letter.envelope.via
            if entry.from_ == OWNER and not via.verified:
                continue
            return Answered(
                id=ask,
                answer=entry.id,
                name=name,
                from_=address(entry),
                text=letter.msg.text,
                at=entry.at,
                seq=entry.seq,
                verified=via.verified,
                default=letter.msg.auto,
            )
    raise NoInput(f"no answer to {ask} in the mailbox of {name}")


def about(mail: Mail, text: str, names: Collection[Name]) -> Found:
    """What an answer to the message must say; 66 where it is nowhere, 77 where none of
    names received it."""
    entries = mail.find(text, names) if names else []
    if not entries:
        there = [one for one in mail.find(text) if device_of(one.name) is None]
        if not there:
            raise NoInput(f"no message {text} was sent here", hint="homi inbox")
        raise _not_asked(there[0].id, there[0].name, list(names))
    entry = entries[0]
    if entry.kind not in ANSWERED_KINDS:
        raise BadMessage(
            f"{entry.id} is a {entry.kind}: automatic, nobody reads a reply"
        )
    return Found(entry.id, entry.name, address(entry))


def whom(mail: Mail, message: MessageId, queue: Name) -> Found:
    """Who answers a message that was sent to another device; 66 where its queue never
    had it."""
    for asked in mail.index([queue]).find(message, [queue], COPIES):
        if asked.id == message:
            return Found(message, queue, _answerer(mail, asked))
    raise NoInput(f"no message {message} was in the queue {queue}")


def opener(mail: Mail, message: MessageId) -> Found:
    """Who began the conversation that the message is in; 66 where nobody knows it."""
    seen: set[str] = set()
    first: Entry | None = None
    at: MessageId | None = message
    while at is not None and at not in seen and len(seen) < ASKED_MAX:
        seen.add(at)
        found = mail.index().find(at, None, 1)
        if not found:
            break
        first = found[0]
        at = first.reply_to or (MessageId(first.thread) if first.thread else None)
    if first is None:
        raise NoInput(f"no message {message} here")
    return Found(first.id, first.name, address(first))


def address(entry: Entry) -> str:
    """The sender of a message, as a reply names it."""
    return entry.from_ if entry.device is None else f"{entry.from_}@{entry.device}"


def _answerer(mail: Mail, asked: Entry) -> str:
    """Who answers what was asked, as an answer names its sender."""
    if device_of(asked.name) is None:
        return asked.name
    return answerer(asked.dest, mail.letter(asked).msg.needs)


def _answers(entry: Entry, asked: list[tuple[Device | None, str]]) -> bool:
    """Whether it comes from who answers one of asked; a device and an address each."""
    if entry.kind not in (Kind.MAIL, Kind.REPLY):
        return False
    for device, one in asked:
        default = entry.from_ == POSTMASTER and entry.device in (None, device)
        if default or address(entry) == one:
            return True
    return False


def _not_asked(message: str, name: str, names: list[Name]) -> NotAllowed:
    """Somebody answers what was sent to another."""
    if name == OWNER:
        return NotAllowed(
            f"{message} waits for a person",
            hint=f"at a terminal: homi answer {message}",
        )
    return NotAllowed(
        f"{message} was sent to {name}, not to {', '.join(names) or 'you'}",
        hint="only who was asked answers; homi send --reply-to writes beside",
    )
