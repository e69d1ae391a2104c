"""Who writes the log of a daemon: a thread of its own, never the loop.

Owns where lines go and when a file is put aside.  Their form is homi.logfile's.
homi-log(1).
"""

import faulthandler
import logging
import os
import queue
import sys
from collections.abc import Mapping
from io import TextIOWrapper
from logging.handlers import QueueHandler, QueueListener, RotatingFileHandler
from pathlib import Path
from types import TracebackType
from typing import Self

from homi import logfile
from homi.amount import amount
from homi.errors import HomiError
from homi.paths import make_private

WAITING_MAX = 10_000  # lines: a disk that hangs must not take all memory
# What journald takes a line's level from, in front of it: sd-daemon(3).
PRIORITY = {"critical": 2, "error": 3, "warning": 4, "info": 6, "debug": 7}

# A record's line, made where it happened.
DATED, BARE = "homi_dated", "homi_bare"
Lines = queue.SimpleQueue[logging.LogRecord]

log = logging.getLogger("homi.log")


class Log:
    """Lines are written from the beginning of the with block to its end."""

    def __init__(self, root: Path, environment: Mapping[str, str]) -> None:
        """root is there already; nothing is written yet."""
        path = logfile.place(root)
        make_private(path.parent)
        own = _File(path)
        handlers: list[logging.Handler] = [own]
        if not own.stands_for_stderr:
            handlers.append(_Stderr(journal=_is_journal(environment)))
        lines: Lines = queue.SimpleQueue()
        self._queue = _Queue(lines)
        self._listener = QueueListener(lines, *handlers)

    def __enter__(self) -> Self:
        """Every logger's lines come here."""
        logging.basicConfig(level=logging.INFO, handlers=[self._queue], force=True)
        self._listener.start()
        if sys.stderr is not None:
            faulthandler.enable()
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        """Write what waits; what ended the daemon is the last of it."""
        if isinstance(error, HomiError):
            log.critical("ended: %s", error)  # it says itself what is wrong
        elif isinstance(error, Exception):
            log.critical("ended: %s", error, exc_info=error)
        self._listener.stop()
        logging.getLogger().removeHandler(self._queue)
        for handler in self._listener.handlers:
            handler.close()


class _Queue(QueueHandler):
    """Hands lines to the thread, and never waits for it."""

    queue: Lines

    def __init__(self, lines: Lines) -> None:
        super().__init__(lines)
        self._lost = 0

    def prepare(self, record: logging.LogRecord) -> logging.LogRecord:
        """Make the line here: what it tells of may be another by the time it is
        written."""
        record.__dict__[DATED] = logfile.text_of(record)
        record.__dict__[BARE] = logfile.text_of(record, dated=False)
        record.exc_info = record.args = None
        return record

    def enqueue(self, record: logging.LogRecord) -> None:
        """Keep it, unless too many wait."""
        if self.queue.qsize() >= WAITING_MAX:
            self._lost += 1
            return
        if self._lost:
            lost, self._lost = self._lost, 0
            lines = amount(lost, "line was", "lines were")
            text = f"{lines} not written: the disk was too slow for them"
            told = logging.makeLogRecord({"name": log.name, "msg": text})
            told.levelno, told.levelname = logging.WARNING, "WARNING"
            self.queue.put(self.prepare(told))
        self.queue.put(record)


class _File(RotatingFileHandler):
    """The file in the state root, put aside when it is large."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            path, maxBytes=logfile.SIZE, backupCount=logfile.KEPT, encoding="utf-8"
        )
        self.stands_for_stderr = _same(_fd(self), 2)

    def _open(self) -> TextIOWrapper:
        """Ours alone from its first moment, and no link to elsewhere."""
        return open(self.baseFilename, "a", encoding="utf-8", opener=_private)

    def format(self, record: logging.LogRecord) -> str:
        """The line as it was made."""
        return str(record.__dict__[DATED])

    def doRollover(self) -> None:
        """Let what prints past the log go on in the new file.  Where this one cannot
        be put aside it goes on, and is tried again when it is twice as large."""
        try:
            super().doRollover()
        except OSError:
            self.maxBytes *= 2
            self.stream = self._open()
        if self.stands_for_stderr:
            for fd in (1, 2):
                os.dup2(_fd(self), fd)

    def handleError(self, record: logging.LogRecord) -> None:
        """A full disk must not keep mail from being drained."""


class _Stderr(logging.StreamHandler):  # type: ignore[type-arg]
    """Standard error, as a person or as journald reads it."""

    def __init__(self, *, journal: bool) -> None:
        super().__init__()
        self._journal = journal

    def format(self, record: logging.LogRecord) -> str:
        """The line as it was made, for journald each of it with its level."""
        if not self._journal:
            return str(record.__dict__[DATED])
        mark = f"<{PRIORITY.get(record.levelname.lower(), 6)}>"
        return "\n".join(mark + line for line in str(record.__dict__[BARE]).split("\n"))

    def handleError(self, record: logging.LogRecord) -> None:
        """Whoever read it is gone."""


def _private(path: str, flags: int) -> int:
    """A file of mode 0600, not through a link."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def _fd(handler: _File) -> int:
    """The descriptor it writes to; -1 where it has none."""
    return -1 if handler.stream is None else handler.stream.fileno()


def _is_journal(environment: Mapping[str, str]) -> bool:
    """Whether standard error leads to journald; systemd.exec(5) has the variable."""
    try:
        found = os.fstat(2)
    except OSError:
        return False
    return environment.get("JOURNAL_STREAM") == f"{found.st_dev}:{found.st_ino}"


def _same(one: int, other: int) -> bool:
    """Whether two descriptors are of one file."""
    try:
        return os.path.samestat(os.fstat(one), os.fstat(other))
    except OSError:
        return False
