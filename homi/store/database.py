"""The one SQLite file of a state root: made, opened, made anew, read and written.

Owns index.sqlite3 and what SQLite's errors mean; knows the tables, not what their
rows say.  Whatever is wrong with the file, another is made: homi-mailbox(5).
"""

import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any

FILE = "index.sqlite3"
VERSION = 2  # of tables and rows: another one is made anew
_MINE = 0x686F6D69  # application_id
_BUSY = 2_000  # ms to wait for another process: one of ours commits far more often
_CACHE = 16 << 10  # KiB: inserts into seven sorted trees want their pages near

_TABLES = """
CREATE TABLE box(num INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,
  state BLOB NOT NULL, crc INTEGER NOT NULL);
CREATE TABLE mail(row INTEGER PRIMARY KEY AUTOINCREMENT,
  box INTEGER NOT NULL, seq INTEGER NOT NULL, segment INTEGER NOT NULL,
  offset INTEGER NOT NULL, length INTEGER NOT NULL, head TEXT NOT NULL,
  tail TEXT NOT NULL, sender TEXT NOT NULL, device TEXT, kind TEXT NOT NULL,
  addressed TEXT NOT NULL, dest TEXT NOT NULL, thread TEXT, reply_to TEXT,
  at TEXT NOT NULL, ttl INTEGER, again INTEGER NOT NULL, rung TEXT NOT NULL,
  reason TEXT, until TEXT, session TEXT, changed TEXT NOT NULL,
  taken INTEGER NOT NULL, repeat INTEGER NOT NULL, pending INTEGER NOT NULL);
CREATE INDEX mail_seq ON mail(box, seq);
CREATE INDEX mail_tail ON mail(tail);
CREATE INDEX mail_head ON mail(head);
CREATE INDEX mail_at ON mail(at);
CREATE INDEX mail_sender ON mail(sender, at);
CREATE INDEX mail_reply ON mail(reply_to) WHERE reply_to IS NOT NULL;
CREATE INDEX mail_thread ON mail(thread) WHERE thread IS NOT NULL;
CREATE INDEX mail_pending ON mail(box, seq) WHERE pending;
CREATE TABLE finding(box INTEGER NOT NULL, journal TEXT NOT NULL,
  offset INTEGER NOT NULL, seq INTEGER, text TEXT NOT NULL);
CREATE INDEX finding_box ON finding(box);
CREATE TABLE ids(box INTEGER NOT NULL, run INTEGER NOT NULL, keys BLOB NOT NULL,
  PRIMARY KEY(box, run));
CREATE TABLE worded(row INTEGER NOT NULL);
INSERT INTO worded VALUES(0);
CREATE VIRTUAL TABLE words USING fts5(text, content='', detail=full,
  tokenize="unicode61 remove_diacritics 2");
"""


class Broken(Exception):
    """The file is damaged or none of ours: it is to be made anew."""


class Unwritable(Exception):
    """The disk is full, or the file may not be written."""


class Locked(Unwritable):
    """Another process keeps the file to itself."""


class Moved(Exception):
    """Another stands at the path now, or none: it is to be opened again."""


class BadQuery(Exception):
    """The words of a search are not in the form of a search."""


class Database:
    """An open file, or one in memory.  One caller at a time."""

    def __init__(self, root: str | None, damaged: int = 0) -> None:
        """root: the folder; None: in memory.  damaged: the inode not to be used."""
        self.path = ":memory:" if root is None else os.path.join(root, FILE)
        self.inode = 0
        with contextlib.ExitStack() as guard, _meaning():
            if root is not None:
                guard.enter_context(_alone(root))
                self.inode = _prepare(self.path, damaged)
            self._db = sqlite3.connect(
                self.path, _BUSY / 1000, isolation_level=None, check_same_thread=False
            )
            try:
                self._begin()
            except BaseException:
                self._db.close()
                raise

    @property
    def in_memory(self) -> bool:
        """Whether all of it ends with close()."""
        return not self.inode

    def all(self, sql: str, *values: object) -> list[Any]:
        """Every row of a query, each a tuple."""
        with _meaning():
            return self._db.execute(sql, values).fetchall()

    def one(self, sql: str, *values: object) -> tuple[Any, ...]:
        """The first row of a query or what a statement gives; empty without one."""
        with _meaning():
            return self._db.execute(sql, values).fetchone() or ()

    def many(self, sql: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """Do one statement for each of rows."""
        with _meaning():
            self._db.executemany(sql, rows)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """All of what is written inside, or nothing; no other process writes then."""
        self._look()
        self.one("BEGIN IMMEDIATE")
        try:
            yield
            self.one("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self._db.rollback()
            raise

    def close(self) -> None:
        """Give the file back."""
        self._db.close()

    def _look(self) -> None:
        """Moved where what stands at the path is not what is open."""
        if self.in_memory:
            return
        try:
            inode = os.lstat(self.path).st_ino
        except OSError:
            inode = 0
        if inode != self.inode:
            raise Moved(self.path)

    def _begin(self) -> None:
        """Settings, and the tables where there are none yet."""
        run = self._db.execute
        run("PRAGMA journal_mode=WAL")
        # The file may fall behind in a power cut, and then is read on from there.
        run("PRAGMA synchronous=NORMAL")
        run("PRAGMA temp_store=MEMORY")
        run(f"PRAGMA cache_size=-{_CACHE}")
        (mine,) = run("PRAGMA application_id").fetchone()
        (version,) = run("PRAGMA user_version").fetchone()
        if (mine, version) == (_MINE, VERSION):
            return
        if mine or version or run("SELECT 1 FROM sqlite_master").fetchone():
            raise Broken(self.path)
        run("BEGIN IMMEDIATE")
        for statement in _TABLES.split(";\n"):
            run(statement)
        run(f"PRAGMA application_id={_MINE}")
        run(f"PRAGMA user_version={VERSION}")
        run("COMMIT")


def measure(root: str) -> tuple[int, int]:
    """(inode, size) of the file under root; zeros: there is none."""
    try:
        found = os.lstat(os.path.join(root, FILE))
    except OSError:
        return 0, 0
    return found.st_ino, found.st_size


@contextlib.contextmanager
def _meaning() -> Iterator[None]:
    """SQLite's errors in words of ours; what is a bug of homi passes as it is."""
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "")
        if name == "SQLITE_READONLY_DBMOVED":
            raise Moved(name) from error
        if name.startswith(("SQLITE_FULL", "SQLITE_READONLY", "SQLITE_CANTOPEN")):
            raise Unwritable(name) from error
        if name.startswith(("SQLITE_IOERR", "SQLITE_PERM", "SQLITE_NOLFS")):
            raise Unwritable(name) from error
        if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            raise Locked(name) from error
        text = str(error)
        if name == "SQLITE_ERROR" and text.startswith(("fts5: ", "unterminated")):
            raise BadQuery(text) from error
        if isinstance(error, sqlite3.ProgrammingError):
            raise
        # A number that is given twice, too: its table of numbers is damaged.
        raise Broken(name) from error
    except UnicodeDecodeError as error:  # it quotes what is damaged
        raise Broken("an error that cannot be read") from error


@contextlib.contextmanager
def _alone(root: str) -> Iterator[None]:
    """No other process opens, makes or removes the file meanwhile."""
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _prepare(path: str, damaged: int) -> int:
    """A private file at path, another one than the damaged; its inode."""
    try:
        found = os.lstat(path)
        if found.st_ino == damaged:
            # The log of the old one would be played into the new one.
            for end in ("", "-wal", "-shm"):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path + end)
    except FileNotFoundError:
        for end in ("-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path + end)
    # SQLite gives its other files the mode of this one.
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(path, flags, 0o600)
    try:
        return os.fstat(fd).st_ino
    finally:
        os.close(fd)
