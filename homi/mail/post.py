"""A message as mail programs keep it: headers and text.

Owns the headers of an exported message, and what is read of anybody's.  Text goes
out as it is, in UTF-8; the X-Homi headers say what a mail program has no word for.
homi-queue(1) lists them.
"""

import re
from contextlib import suppress
from email.errors import HeaderParseError
from email.header import Header, decode_header, make_header
from email.message import Message
from email.parser import BytesParser
from email.utils import formatdate, parseaddr, parsedate_to_datetime
from typing import TypeVar

from homi.clock import parse_rfc3339, rfc3339
from homi.envelope import FINISHED, Kind, MessageId, Msg, Reason, Rung, Was, decode_msg
from homi.errors import BadMessage
from homi.mail.past import Exported, composed, id_of, name_of
from homi.requests import Past
from homi.visible import visible

Word = TypeVar("Word", Rung, Reason, Kind)

SUBJECT = 200  # characters of a first line that says what it says by then

_OURS = re.compile(r"<([0-9a-f-]{36})@homi>")
_TEXT = "\n".join(
    (
        "MIME-Version: 1.0",
        "Content-Type: text/plain; charset=utf-8",
        "Content-Transfer-Encoding: 8bit",
    )
)


def write(of: Exported) -> bytes:
    """The message with its headers, one line feed behind its text."""
    msg = decode_msg(of.msg)
    device = (of.via or {}).get("device") or "homi"
    fields = {
        "From": of.from_ or f"{msg.from_}@{device}",
        "To": f"{msg.to.partition('@')[0]}@homi",
        "Date": formatdate(_seconds(of.at)),
        "Message-ID": f"<{msg.id}@homi>",
        "In-Reply-To": f"<{msg.reply_to}@homi>" if msg.reply_to else "",
        "Subject": msg.text.lstrip().partition("\n")[0][:SUBJECT],
        "X-Homi-From": msg.from_,
        "X-Homi-Device": str((of.via or {}).get("device") or ""),
        "X-Homi-To": msg.to,
        "X-Homi-Kind": msg.kind,
        "X-Homi-Thread": msg.thread or "",
        "X-Homi-At": of.at,
        "X-Homi-Rung": of.rung or "",
        "X-Homi-Reason": of.reason or "",
        "X-Homi-Changed": of.changed,
    }
    lines = [f"{name}: {_written(value)}" for name, value in fields.items() if value]
    return "\n".join([*lines, _TEXT, "", msg.text, ""]).encode()


def read(data: bytes, now: float, *, pending: bool, seen: bool = False) -> Past:
    """The message in data; BadMessage (65) where it has no text that could be one.

    pending: what is not finished by its own word, or seen, is pending.
    """
    try:
        return _read(data, now, pending=pending, seen=seen)
    except RecursionError:
        # The library goes down into each part and each comment of a header.
        raise BadMessage("its parts are nested too deep") from None


def _read(data: bytes, now: float, *, pending: bool, seen: bool) -> Past:
    """As read(), of what is not nested without end."""
    parsed = BytesParser().parsebytes(data)
    rung = _word(Rung, _header(parsed, "X-Homi-Rung"))
    if rung is None or not _OURS.fullmatch(_header(parsed, "Message-ID")):
        open_ = pending and not seen
        return _foreign(parsed, data, now, Rung.STORED if open_ else Rung.SEEN)
    if rung not in FINISHED and not pending:
        rung = Rung.SEEN
    return _own(parsed, data, now, rung)


def _own(of: Message, data: bytes, now: float, rung: Rung) -> Past:
    """A message that write() made, as it was."""
    kind = _word(Kind, _header(of, "X-Homi-Kind")) or Kind.MAIL
    name, address = _header(of, "X-Homi-From"), parseaddr(_header(of, "From"))[1]
    device, reply = _header(of, "X-Homi-Device"), _header(of, "In-Reply-To")
    msg = Msg(
        id=MessageId(_mid(_header(of, "Message-ID"))),
        from_=name or name_of(address),
        to=_header(of, "X-Homi-To"),
        text=_own_text(data),
        kind=kind,
        thread=_header(of, "X-Homi-Thread") or None,
        reply_to=MessageId(_mid(reply)) if reply else None,
        auto=kind in (Kind.BOUNCE, Kind.NOTICE),
    )
    was = Was(
        at=_header(of, "X-Homi-At") or _date(of, now),
        rung=rung,
        reason=_word(Reason, _header(of, "X-Homi-Reason")),
        changed=_header(of, "X-Homi-Changed"),
        from_="" if address.startswith(f"{name}@") else address,
        via={"device": device} if device else None,
    )
    return composed(msg, was)


def _foreign(of: Message, data: bytes, now: float, rung: Rung) -> Past:
    """A message that some mail program made, as far as it is one here."""
    sender = parseaddr(_header(of, "From"))[1]
    given, reply = _header(of, "Message-ID"), _header(of, "In-Reply-To")
    msg = Msg(
        id=MessageId(_mid(given) if given else id_of(data.decode("latin-1"))),
        from_=name_of(sender),
        to=name_of(parseaddr(_header(of, "To"))[1]),
        text=_text(of),
        kind=Kind.REPLY if reply else Kind.MAIL,
        reply_to=MessageId(_mid(reply)) if reply else None,
    )
    was = Was(at=_date(of, now), rung=rung, from_=sender)
    return composed(msg, was)


def finished(of: Exported) -> bool:
    """Whether a mail program shows it as read."""
    return of.rung in FINISHED


def _written(value: str) -> str:
    """A header's value: nothing in it ends the line, other scripts encoded."""
    plain = visible(value)
    if plain.isascii() and len(plain) < 900:
        return plain
    return Header(plain, "utf-8", maxlinelen=76).encode(linesep="\n")


def _header(of: Message, name: str) -> str:
    """A header as text; what cannot be decoded as it stands."""
    value = of.get(name)
    if value is None:
        return ""
    text = str(value)
    with suppress(HeaderParseError, LookupError, ValueError):
        text = str(make_header(decode_header(text)))
    return " ".join(text.encode("utf-8", "replace").decode().split())


def _mid(text: str) -> str:
    """The id that a Message-ID stands for."""
    ours = _OURS.fullmatch(text)
    return id_of(ours[1] if ours else text)


def _date(of: Message, now: float) -> str:
    """When it was written; now where it does not say, or no calendar has that."""
    try:
        return rfc3339(parsedate_to_datetime(_header(of, "Date")).timestamp())
    except (ValueError, TypeError, OverflowError):
        return rfc3339(now)


def _own_text(data: bytes) -> str:
    """The text behind the headers, byte for byte, but for the line feed added."""
    body = data.partition(b"\n\n")[2]
    try:
        return body.removesuffix(b"\n").decode()
    except UnicodeDecodeError as error:
        raise BadMessage("the text is not UTF-8") from error


def _text(of: Message) -> str:
    """The subject, and the first plain text in it."""
    for part in of.walk():
        attached = part.get_content_disposition() == "attachment"
        if part.get_content_type() == "text/plain" and not attached:
            subject = _header(of, "Subject")
            body = _decoded(part).replace("\r\n", "\n").rstrip("\n")
            return f"{subject}\n\n{body}" if subject else body
    raise BadMessage("no plain text in it")


def _decoded(part: Message) -> str:
    """The text of one part; what its charset does not hold is replaced."""
    payload = part.get_payload(decode=True)
    data = payload if isinstance(payload, bytes) else b""
    try:
        text = data.decode(part.get_content_charset("utf-8"), "replace")
        return text.encode("utf-8", "replace").decode()  # a charset may have halves
    except (LookupError, ValueError):  # none, or one that replaces nothing
        return data.decode("utf-8", "replace")


def _word(kind: type[Word], text: str) -> Word | None:
    """text as one of the words of kind; None where it is none."""
    try:
        return kind(text)
    except ValueError:
        return None


def _seconds(at: str) -> float:
    """A stamp in wall seconds; 0 where it is none."""
    try:
        return parse_rfc3339(at)
    except ValueError:
        return 0.0
