"""Mailboxes from their files: at start and with the daemon dead."""

from pathlib import Path

import pytest

from homi.address import Name
from homi.envelope import Envelope, LedgerLine, Rung, Via
from homi.store.lines import Unreadable
from homi.store.loading import load
from homi.store.reading import iter_inbox, iter_ledger
from tests.unit.store.lines_kit import (
    ADA,
    envelope,
    ledger,
    line,
    message,
    write_mailbox,
)

NAME = Name("ada")


def test_empty_root_gives_an_empty_mailbox(tmp_path: Path) -> None:
    """A name without mail touches no disk."""
    loaded = load(str(tmp_path), NAME)
    assert (loaded.mailbox.pending, loaded.findings, loaded.keys) == ({}, [], [])
    assert list(tmp_path.iterdir()) == []


def test_pending_is_what_no_line_finished(tmp_path: Path) -> None:
    """Restarts keep the same mail in the same order."""
    data = b"".join(envelope(seq) for seq in (1, 2, 3, 5))
    lines = ledger(
        line(1, 2, Rung.OFFERED, session=ADA),
        line(2, 3, Rung.SEEN),
        line(3, 3, Rung.ANSWERED),
    )
    write_mailbox(tmp_path, data, lines)
    for _ in range(3):
        box = load(str(tmp_path), NAME).mailbox
        assert list(box.pending) == [1, 2, 5]
        assert (box.last_seq, box.last_n) == (5, 3)
        assert box.rung_of(message(3)) is Rung.ANSWERED
        assert box.pending[2].session == ADA
        assert box.read(5).seq == 5


def test_torn_tail_costs_that_line_and_no_other(tmp_path: Path) -> None:
    """A stump, the line feed a start brings, and mail behind it."""
    stump = envelope(2)[:40]
    write_mailbox(tmp_path, envelope(1) + stump + b"\n" + envelope(3))
    loaded = load(str(tmp_path), NAME)
    assert list(loaded.mailbox.pending) == [1, 3]
    assert [finding.offset for finding in loaded.findings] == [len(envelope(1))]
    assert loaded.findings[0].path.endswith("mail/ada/inbox.jsonl")


def test_tail_cut_inside_a_character_is_no_line(tmp_path: Path) -> None:
    """It is not terminated, so it is neither mail nor a finding."""
    torn = envelope(2, text="é" * 20).rstrip(b"\n}")
    write_mailbox(tmp_path, envelope(1) + torn[: torn.rindex(b"\xc3") + 1])
    loaded = load(str(tmp_path), NAME)
    assert list(loaded.mailbox.pending) == [1]
    assert loaded.findings == []


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (b"{}", "not a record"),
        (b'{"x":' + b"[" * 100_000, "nested too deep"),
        (envelope(2).replace(b'"hello"', b'"\xff\xfe"').rstrip(), "not UTF-8"),
        (envelope(2).replace(b'"v":1', b'"v":7').rstrip(), "version 7"),
        (envelope(2).replace(b'"seq":2', b'"seq":-2').rstrip(), "out of range"),
        (envelope(2).replace(b'"seq":2', b'"seq":' + b"9" * 19).rstrip(), ""),
        (b"\0" * 512, "not a record"),
    ],
)
def test_unreadable_line_blocks_nothing(tmp_path: Path, bad: bytes, said: str) -> None:
    """Each is a finding with its offset, left where it is."""
    data = envelope(1) + bad + b"\n" + envelope(3)
    folder = write_mailbox(tmp_path, data)
    loaded = load(str(tmp_path), NAME)
    assert list(loaded.mailbox.pending) == [1, 3]
    assert [one.offset for one in loaded.findings] == [len(envelope(1))]
    assert said in loaded.findings[0].text
    assert (folder / "inbox.jsonl").read_bytes() == data


def test_findings_quote_nothing_of_the_line(tmp_path: Path) -> None:
    """A report must not leak what a line holds."""
    odd = envelope(1).replace(b'"to":"ada","text"', b'"kind":"hunter2","text"')
    write_mailbox(tmp_path, b'{"v":1,"seq":"hunter2"}\nhunter2\n' + odd)
    assert b"hunter2" in odd
    texts = [finding.text for finding in load(str(tmp_path), NAME).findings]
    assert len(texts) == 3
    assert not any("hunter2" in text for text in texts)


def test_ledger_line_about_no_envelope_is_reported(tmp_path: Path) -> None:
    """Something lost an inbox line; silence would hide it."""
    write_mailbox(tmp_path, envelope(1), ledger(line(1, 9, Rung.SEEN)) + b"what\n")
    loaded = load(str(tmp_path), NAME)
    assert list(loaded.mailbox.pending) == [1]
    assert {finding.offset for finding in loaded.findings} == {
        0,
        len(ledger(line(1, 9, Rung.SEEN))),
    }


def test_seq_out_of_order_is_reported_and_nothing_dropped(tmp_path: Path) -> None:
    """A damaged seq must not cost the intact lines behind it."""
    write_mailbox(tmp_path, envelope(1) + envelope(90) + envelope(3) + envelope(4))
    loaded = load(str(tmp_path), NAME)
    assert list(loaded.mailbox.pending) == [1, 3, 4, 90]
    assert loaded.mailbox.last_seq == 90
    assert len(loaded.findings) == 2


def test_keys_name_origin_id_and_place(tmp_path: Path) -> None:
    """Dedupe starts from these, for finished mail as well."""
    first = envelope(1, via=Via(door="peer", uid=7, session="s1", verified=True))
    write_mailbox(tmp_path, first + envelope(2), ledger(line(1, 1, Rung.SEEN)))
    assert load(str(tmp_path), NAME).keys == [
        ("session:s1", message(1), 0),
        ("uid:7", message(2), len(first)),
    ]


def test_intent_without_outcome_needs_the_mark(tmp_path: Path) -> None:
    """The process died between the bytes and the record of them."""
    lines = ledger(line(1, 1, Rung.INTENT, session=ADA))
    write_mailbox(tmp_path, envelope(1) + envelope(2), lines)
    pending = load(str(tmp_path), NAME).mailbox.pending
    assert (pending[1].repeat, pending[2].repeat) == (True, False)


def test_after_a_power_cut_all_pending_needs_the_mark(tmp_path: Path) -> None:
    """Evidence of a hand-over may have been lost with the power."""
    write_mailbox(tmp_path, envelope(1) + envelope(2))
    pending = load(str(tmp_path), NAME, doubtful=True).mailbox.pending
    assert all(item.repeat for item in pending.values())


def test_files_can_be_read_with_the_daemon_dead(tmp_path: Path) -> None:
    """Reading verbs use the files and change none of them."""
    folder = write_mailbox(
        tmp_path,
        envelope(1) + b"??\n" + envelope(2)[:-9],
        ledger(line(1, 1, Rung.HELD)) + b"half",
    )
    found = [what for _, what in iter_inbox(folder / "inbox.jsonl")]
    assert isinstance(found[0], Envelope)
    assert isinstance(found[1], Unreadable)
    assert len(found) == 2
    ((offset, held),) = iter_ledger(folder / "ledger.jsonl")
    assert isinstance(held, LedgerLine)
    assert (offset, held.rung) == (0, Rung.HELD)
    assert load(str(tmp_path), NAME).mailbox.pending[1].rung is Rung.HELD


def test_reader_beside_the_writer_sees_no_fragment(tmp_path: Path) -> None:
    """Half a line is nothing; its other half makes it one line."""
    whole = envelope(2)
    folder = write_mailbox(tmp_path, envelope(1) + whole[:30])
    inbox = folder / "inbox.jsonl"
    assert len(list(iter_inbox(inbox))) == 1
    with inbox.open("ab") as file:
        file.write(whole[30:])
    assert [one.seq for _, one in iter_inbox(inbox) if isinstance(one, Envelope)] == [
        1,
        2,
    ]
