"""Envelopes and ledger lines as tests write them."""

from pathlib import Path

import msgspec

from homi import ids
from homi.envelope import (
    Envelope,
    LedgerLine,
    MessageId,
    Msg,
    Rung,
    SessionRef,
    Via,
    encode,
)

AT = "2026-11-29T22:30:00.123Z"
ADA = SessionRef(pid=41, start="900", id="c1")
BOB = SessionRef(pid=42, start="901", id="c2")


def message(number: int) -> MessageId:
    """The same id for the same number."""
    return MessageId(ids.derived("test", str(number)))


def envelope(
    seq: int, *, text: str = "hello", sender: str = "bob", via: Via | None = None
) -> bytes:
    """An inbox line of that seq, line feed included."""
    msg = Msg(id=message(seq), from_=sender, to="ada", text=text)
    return (
        encode(
            Envelope(
                v=1,
                seq=seq,
                at=AT,
                to="ada",
                via=via or Via(door="control", uid=7),
                msg=msgspec.Raw(encode(msg)),
            )
        )
        + b"\n"
    )


def line(n: int, seq: int, rung: Rung, **more: object) -> LedgerLine:
    """A ledger line about that seq."""
    return LedgerLine(n=n, seq=seq, id=message(seq), rung=rung, at=AT, **more)  # type: ignore[arg-type]


def ledger(*lines: LedgerLine) -> bytes:
    """Ledger lines as bytes."""
    return b"".join(encode(one) + b"\n" for one in lines)


def write_mailbox(root: Path, inbox: bytes, ledger_bytes: bytes = b"") -> Path:
    """mail/ada under root with these bytes; its folder."""
    folder = root / "mail" / "ada"
    folder.mkdir(parents=True)
    (folder / "inbox.jsonl").write_bytes(inbox)
    if ledger_bytes:
        (folder / "ledger.jsonl").write_bytes(ledger_bytes)
    return folder
