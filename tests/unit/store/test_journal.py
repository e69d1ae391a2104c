"""Journals: append, line feeds, short writes, sequences, open files."""

import os
import stat
from pathlib import Path

import pytest

from homi.store.disk import RealDisk
from homi.store.journal import Journal, Journals
from homi.store.places import is_journal
from tests.unit.store.commit_kit import FaultyDisk

ADA = "mail/ada/inbox.jsonl"


def line(seq: int, text: str = "") -> bytes:
    """A line with a sequence."""
    return b'{"seq":%d,"text":"%b"}\n' % (seq, text.encode())


def loaded(root: Path, disk: RealDisk | None = None) -> tuple[Journals, Journal]:
    """The journals of root as after a start, and ada's inbox."""
    journals = Journals(disk or RealDisk(), str(root))
    for name in journals.names():
        journals.load(name)
    return journals, journals.get(ADA)


def test_first_line_after_a_start_brings_a_line_feed(tmp_path: Path) -> None:
    """A stump of a crash spoils that line and no other."""
    journals, ada = loaded(tmp_path)
    journals.append(ada, line(1))
    with (tmp_path / ADA).open("ab") as file:
        file.write(b'{"seq":2,"tex')
    journals, ada = loaded(tmp_path)
    at = journals.append(ada, line(3))
    assert (tmp_path / ADA).read_bytes() == line(1) + b'{"seq":2,"tex\n' + line(3)
    assert at == len(line(1)) + 14
    assert journals.append(ada, line(4)) == at + len(line(3))


def test_empty_journal_starts_without_a_blank_line(tmp_path: Path) -> None:
    """The line feed is for a stump; an empty file has none."""
    journals, ada = loaded(tmp_path)
    assert journals.append(ada, line(1)) == 0
    assert (tmp_path / ADA).read_bytes() == line(1)


def test_short_write_is_finished(tmp_path: Path) -> None:
    """A write may take less than all and raise nothing."""
    disk = FaultyDisk()
    disk.short = 7
    journals, ada = loaded(tmp_path, disk)
    journals.append(ada, line(1, "x" * 100))
    journals.append(ada, line(2))
    assert (tmp_path / ADA).read_bytes() == line(1, "x" * 100) + line(2)


def test_failed_write_leaves_a_stump_the_next_line_is_kept_from(
    tmp_path: Path,
) -> None:
    """A full disk in mid-line must not glue the next line to the torn one."""
    disk = FaultyDisk()
    journals, ada = loaded(tmp_path, disk)
    disk.room = 10
    with pytest.raises(OSError, match="No space"):
        journals.append(ada, line(1, "long enough"))
    disk.room = None
    journals.append(ada, line(2))
    stump = line(1, "long enough")[:10]
    assert (tmp_path / ADA).read_bytes() == stump + b"\n" + line(2)


def test_few_files_are_open_and_every_journal_gets_its_lines(tmp_path: Path) -> None:
    """A thousand names must not need a thousand descriptors."""
    journals = Journals(RealDisk(), str(tmp_path), limit=3)
    names = [f"mail/n{i}/inbox.jsonl" for i in range(10)]
    before = len(os.listdir("/dev/fd"))
    for seq in range(1, 4):
        for name in names:
            journals.append(journals.get(name), line(seq))
    assert len(os.listdir("/dev/fd")) == before + 3
    for name in names:
        assert (tmp_path / name).read_bytes() == line(1) + line(2) + line(3)
    journals.close()
    assert len(os.listdir("/dev/fd")) == before


def test_last_sequence_looks_past_what_cannot_be_read(tmp_path: Path) -> None:
    """A sequence given twice would change what an older line means."""
    journals, ada = loaded(tmp_path)
    journals.append(ada, line(7) + b"garbage\n\n" + b'{"seq":-4}\n' + b'{"seq":9')
    assert loaded(tmp_path)[1].last == 7


def test_last_sequence_is_above_the_newest_archived_segment(tmp_path: Path) -> None:
    """An inbox that was just archived must not start again at one."""
    archive = tmp_path / "mail/ada/archive"
    archive.mkdir(parents=True)
    (archive / "inbox.0000000000000031.jsonl").write_bytes(line(31))
    (archive / "inbox.0000000000000040.jsonl").write_bytes(line(39) + line(40))
    (archive / "ledger.0000000000000040.jsonl").write_bytes(b'{"n":99}\n')
    (tmp_path / ADA).touch()
    assert loaded(tmp_path)[1].last == 40
    (tmp_path / ADA).write_bytes(line(41))
    assert loaded(tmp_path)[1].last == 41


def test_last_sequence_of_a_long_journal_is_found_from_its_end(tmp_path: Path) -> None:
    """A start must not read a whole mailbox for one number."""
    journals, ada = loaded(tmp_path)
    big = b"".join(line(seq, "x" * 5000) for seq in range(1, 600))
    journals.append(ada, big)

    class Counting(RealDisk):
        read = 0

        def pread(self, fd: int, n: int, offset: int) -> bytes:  # type: ignore[override]
            Counting.read += n
            return os.pread(fd, n, offset)

    assert loaded(tmp_path, Counting())[1].last == 599
    assert Counting.read < len(big)


def test_line_longer_than_the_window_is_found(tmp_path: Path) -> None:
    """One letter may be larger than what is read at a time."""
    journals, ada = loaded(tmp_path)
    journals.append(ada, line(1) + line(2, "x" * (3 << 20)))
    assert loaded(tmp_path)[1].last == 2


def test_lines_of_another_hand_are_not_written_over(tmp_path: Path) -> None:
    """Somebody's editor may have added a line while the file was closed."""
    journals = Journals(RealDisk(), str(tmp_path), limit=1)
    ada, bob = journals.get(ADA), journals.get("mail/bob/inbox.jsonl")
    journals.append(ada, line(1))
    journals.append(bob, line(1))  # closes ada's file
    with (tmp_path / ADA).open("ab") as file:
        file.write(b"note to self")
    journals.append(ada, line(2))
    assert (tmp_path / ADA).read_bytes() == line(1) + b"note to self\n" + line(2)


def test_strays_in_mail_are_no_journals(tmp_path: Path) -> None:
    """A folder a person made must not become a mailbox, nor stop the start."""
    journals, ada = loaded(tmp_path)
    journals.append(ada, line(1))
    (tmp_path / "mail/Not A Name").mkdir()
    (tmp_path / "mail/Not A Name/inbox.jsonl").write_bytes(line(1))
    (tmp_path / "mail/file").write_bytes(b"")
    assert journals.names() == [ADA]


@pytest.mark.parametrize(
    ("name", "good"),
    [
        (ADA, True),
        ("mail/ada/ledger.jsonl", True),
        ("out/mini/queue.jsonl", True),
        ("out/mini/ledger.jsonl", True),
        ("out/mini/inbox.jsonl", False),
        ("mail/ada/queue.jsonl", False),
        ("out/../queue.jsonl", False),
        ("mail/../inbox.jsonl", False),
        ("mail/ada/../x/inbox.jsonl", False),
        ("/etc/passwd", False),
        ("mail/ada/inbox.jsonl\n", False),
        ("mail/ADA/inbox.jsonl", False),
    ],
)
def test_only_paths_of_ours_may_stand_in_a_record(name: str, good: bool) -> None:
    """A damaged ring must not make a start write elsewhere."""
    assert is_journal(name) is good


def test_files_and_folders_are_private_whatever_the_umask(tmp_path: Path) -> None:
    """Mail is nobody else's to read."""
    before = os.umask(0)
    try:
        journals, ada = loaded(tmp_path)
        journals.append(ada, line(1))
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / ADA).stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "mail").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "mail/ada").stat().st_mode) == 0o700


def test_symbolic_link_is_not_followed(tmp_path: Path) -> None:
    """A link in place of an inbox would let mail out of the root."""
    (tmp_path / "mail/ada").mkdir(parents=True)
    (tmp_path / ADA).symlink_to(tmp_path / "elsewhere")
    journals = Journals(RealDisk(), str(tmp_path))
    with pytest.raises(OSError, match="symbolic"):
        journals.append(journals.get(ADA), line(1))
    assert not (tmp_path / "elsewhere").exists()
