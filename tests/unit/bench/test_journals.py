"""A state root that is written for a measurement is one that homi could have left."""

from pathlib import Path

from homi.address import Name
from homi.envelope import Envelope, LedgerLine, decode_msg, encode
from homi.names import State
from homi.store.disk import RealDisk
from homi.store.loading import load
from homi.store.reading import iter_inbox, iter_ledger
from homi.store.state import StateFile
from homi.strict import parse_msg
from tests.standin import journals

COUNT, PENDING = 2500, 30


def test_a_written_mailbox_reads_without_a_finding(tmp_path: Path) -> None:
    """Every line whole, in order, and all but the last few finished."""
    journals.write_mailbox(tmp_path, "big", COUNT, PENDING)
    loaded = load(str(tmp_path), Name("big"))
    assert loaded.findings == []
    assert len(loaded.keys) == COUNT
    assert len(set(loaded.keys)) == COUNT
    assert list(loaded.mailbox.pending) == list(range(COUNT - PENDING + 1, COUNT + 1))


def test_written_lines_are_those_homi_writes(tmp_path: Path) -> None:
    """Byte for byte as its own encoder would, so that no reader takes a slow way."""
    journals.write_mailbox(tmp_path, "big", COUNT, PENDING)
    folder = tmp_path / "mail" / "big"
    mails = [mail for _, mail in iter_inbox(folder / "inbox.jsonl")]
    raw = (folder / "inbox.jsonl").read_bytes().splitlines()
    for mail, line in zip(mails, raw, strict=True):
        assert isinstance(mail, Envelope)
        assert encode(mail) == line
        assert encode(parse_msg(bytes(mail.msg))) == bytes(mail.msg)
    rungs = [rung for _, rung in iter_ledger(folder / "ledger.jsonl")]
    raw = (folder / "ledger.jsonl").read_bytes().splitlines()
    for rung, line in zip(rungs, raw, strict=True):
        assert isinstance(rung, LedgerLine)
        assert encode(rung) == line
    assert [rung.n for rung in rungs if isinstance(rung, LedgerLine)] == [
        *range(1, 2 * (COUNT - PENDING) + 1)
    ]


def test_a_needle_stands_in_one_message_and_replies_lead_to_one(tmp_path: Path) -> None:
    """What a search and a thread are asked for is there."""
    journals.write_mailbox(tmp_path, "big", COUNT)
    msgs = [
        decode_msg(mail.msg)
        for _, mail in iter_inbox(tmp_path / "mail/big/inbox.jsonl")
        if isinstance(mail, Envelope)
    ]
    found = [msg.id for msg in msgs if journals.needle(2000) in msg.text]
    assert found == [journals.message_id("big", 2000)]
    ids = {msg.id for msg in msgs}
    answers = [msg for msg in msgs if msg.reply_to]
    assert len(answers) == COUNT // 10
    assert {msg.reply_to for msg in answers} <= ids


def test_written_names_are_claims(tmp_path: Path) -> None:
    """As an earlier run would have left them."""
    journals.write_names(tmp_path, ["ada", "bob"])
    state, findings = StateFile(str(tmp_path / "names.json"), RealDisk(), State).load()
    assert findings == []
    assert state is not None
    assert sorted(state.claims) == ["ada", "bob"]
