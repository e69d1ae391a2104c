"""What the tests of the commit protocol share: mail, a disk with faults, a core."""

import errno
import itertools
import json
import os
import uuid
from collections.abc import Callable
from pathlib import Path

from homi.address import Name
from homi.envelope import (
    LedgerLine,
    MessageId,
    Msg,
    Rung,
    Via,
    decode_ledger,
    encode,
    origin,
)
from homi.store.base import Kept, Mail
from homi.store.batch import Batch, Entry
from homi.store.committer import Committer
from homi.store.disk import Disk, RealDisk
from homi.store.fault import Hook
from homi.store.places import inbox_of
from homi.store.quarantine import Quarantine
from homi.store.start import Started, start

MIB = 1 << 20
AT = "2026-11-29T22:30:00.123Z"
VIA = Via(door="control", uid=1000)
_numbers = itertools.count(1)


def new_id() -> MessageId:
    """An id nobody had before."""
    return MessageId(str(uuid.UUID(int=next(_numbers))))


def mail(
    place: str = "ada",
    text: str = "hello",
    message: MessageId | None = None,
    via: Via = VIA,
    done: Callable[[Mail], None] = lambda _mail: None,
) -> Mail:
    """A mail as the postmaster hands it down."""
    head = Msg(id=message or new_id(), from_="bob", to=place, text=text)
    msg = encode(head)
    tail = b'"at":"%b","to":"%b","via":%b,"msg":%b}\n' % (
        AT.encode(),
        place.encode(),
        encode(via),
        msg,
    )
    return Mail(Name(place), origin(via), head, via, msg, tail, done)


def entry(seq: int = 1, rung: Rung = Rung.OFFERED, place: str = "ada") -> Entry:
    """A ledger line on its way."""
    line = LedgerLine(seq=seq, id=MessageId(f"id-{seq}"), rung=rung, at=AT)
    return Entry(place, line, None)


class FaultyDisk(RealDisk):
    """The real disk, which notes what is asked of it and refuses what it is told to."""

    def __init__(self) -> None:
        """No fault."""
        self.calls: list[tuple[str, str]] = []  # (what, name of the file)
        self.paths: dict[int, str] = {}
        self.failing: dict[tuple[str, str], list[int | None]] = {}
        self.short = 0  # bytes a write of a journal takes at most; 0: all
        self.room: int | None = None  # bytes journals may still grow by

    def fail(self, what: str, name: str, *, after: int = 0, times: int = 1) -> None:
        """Let the call `what` on files whose path ends in name fail with EIO."""
        self.failing[what, name] = [None] * after + [errno.EIO] * times

    def open(self, path: str, flags: int, mode: int = 0o600) -> int:  # type: ignore[override]
        fd = os.open(path, flags, mode)
        self.paths[fd] = path
        return fd

    def pwrite(self, fd: int, data: bytes, offset: int) -> int:  # type: ignore[override]
        path = self._met("write", self.paths[fd])
        if path.endswith(".jsonl") and "quarantine" not in path:
            if self.short:
                data = data[: self.short]
            if self.room is not None:
                data = data[: self.room]
                if not data:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                self.room -= len(data)
        return os.pwrite(fd, data, offset)

    def truncate(self, fd: int, n: int) -> None:  # type: ignore[override]
        self._met("truncate", self.paths[fd])
        os.ftruncate(fd, n)

    def sync(self, fd: int) -> None:  # type: ignore[override]
        self._met("sync", self.paths[fd])
        os.fdatasync(fd)

    def sync_dir(self, path: str) -> None:
        self._met("sync_dir", path)
        super().sync_dir(path)

    def _met(self, what: str, path: str) -> str:
        name = os.path.basename(path)
        self.calls.append((what, name))
        for (call, end), plan in self.failing.items():
            if call == what and path.endswith(end) and plan:
                number = plan.pop(0)
                if number is not None:
                    raise OSError(number, os.strerror(number))
        return path


class Core:
    """A committer over real files, driven by hand."""

    def __init__(
        self,
        root: Path,
        disk: Disk | None = None,
        size: int = MIB,
        hook: Hook | None = None,
    ) -> None:
        """Recover root."""
        self.root = root
        self.disk = disk or RealDisk()
        keep = Quarantine(str(root), self.disk).keep
        self.started: Started = start(
            self.disk, str(root), size, keep, lambda: 0.0, hook
        )
        self.committer: Committer = self.started.committer

    def commit(self, *mails: Mail) -> Batch:
        """One batch of these mails."""
        return self.batch(Batch(list(mails), [], []))

    def decide(self, *entries: Entry) -> Batch:
        """One batch of these decisions."""
        return self.batch(Batch([], list(entries), []))

    def evidence(self, *entries: Entry) -> Batch:
        """One batch of this evidence."""
        return self.batch(Batch([], [], list(entries)))

    def batch(self, batch: Batch) -> Batch:
        """Commit a batch, the steps between two batches before it."""
        half = self.committer.between()
        if half is not None:
            self.committer.checkpoint.sync_dirty(half)
        self.committer.commit(batch)
        return batch

    def checkpoint(self) -> None:
        """A whole checkpoint."""
        self.committer.checkpoint.wanted = True
        half = self.committer.between()
        assert half is not None
        self.committer.checkpoint.sync_dirty(half)
        self.committer.between()

    def close(self) -> None:
        """Give the files back, as a process death does."""
        self.committer.close()


def inbox_path(root: Path, name: str = "ada") -> Path:
    """Where an inbox is."""
    return root / inbox_of(Name(name))


def ids(root: Path, name: str = "ada") -> list[str]:
    """The ids in an inbox, in file order, unreadable lines left out."""
    return ids_in(inbox_path(root, name))


def ids_in(path: Path) -> list[str]:
    """The same of lines wherever they were put."""
    found = []
    for line in path.read_bytes().split(b"\n") if path.exists() else []:
        try:
            found.append(json.loads(line)["msg"]["id"])
        except (ValueError, KeyError, TypeError):
            continue
    return found


def ledger(root: Path, name: str = "ada") -> list[LedgerLine]:
    """The lines of a ledger."""
    path = root / "mail" / name / "ledger.jsonl"
    return [decode_ledger(x) for x in path.read_bytes().split(b"\n") if x]


def kept(batch: Batch) -> list[Kept]:
    """What became of each mail of a batch."""
    return [one.kept for one in batch.mails]
