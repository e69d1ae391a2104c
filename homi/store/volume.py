"""The file of the index in use: opened, and another one where it turns out unusable.

Owns what is done when the file is missing, damaged, moved or not writable; asks
nothing of its own.  homi-mailbox(5) says when an index is believed.
"""

from collections.abc import Callable
from typing import TypeVar

from homi.errors import StorageFailed
from homi.store.boxes import entries_of, typed
from homi.store.database import Broken, Database, Locked, Moved, Unwritable, measure
from homi.store.rows import Entry

Result = TypeVar("Result")

_TRIES = 3  # files made or opened anew for one call before it stays in memory


class Volume:
    """A database that is replaced when it has to be, whoever asks."""

    def __init__(self, root: str, again: Callable[[], None]) -> None:
        """again has another file know what this one did; it may ask for more."""
        self._root = root
        self._again = again
        self.locked = False  # another process keeps the file to itself
        self.db = self._opened(0)

    def close(self) -> None:
        """Give the file back."""
        self.db.close()

    def whole(self, work: Callable[[], Result]) -> Result:
        """The result of work, on another file where this one turns out unusable."""
        return self._tried(work, _nothing)

    def rows(self, kind: type[Result], sql: str, *values: object) -> list[Result]:
        """The rows of a question, each of that kind.  A damaged file is made anew and
        caught up first."""
        return self._tried(
            lambda: [typed(row, kind) for row in self.db.all(sql, *values)], self._again
        )

    def entries(self, sql: str, *values: object) -> list[Entry]:
        """The messages of a question, each row with its mailbox's name in front."""
        return self._tried(lambda: entries_of(self.db.all(sql, *values)), self._again)

    def anew(self, why: Exception) -> None:
        """Open the file again: another if damaged, none if it cannot be written."""
        self.db.close()
        if isinstance(why, Unwritable):
            self.locked = isinstance(why, Locked)
            self.db = Database(None)
        else:
            self.db = self._opened(self.db.inode if isinstance(why, Broken) else 0)

    def _tried(self, work: Callable[[], Result], behind: Callable[[], None]) -> Result:
        """The result of work; behind is called with each file that is another."""
        for _ in range(_TRIES):
            try:
                return work()
            except (Broken, Moved, Unwritable) as why:
                self.anew(why)
                behind()
        raise StorageFailed("the index cannot be made", hint="see homi-mailbox(5)")

    def _opened(self, damaged: int) -> Database:
        """The file, another than the damaged one; memory where there can be none."""
        for _ in range(_TRIES):
            try:
                return Database(self._root, damaged)
            except Broken:
                damaged, _ = measure(self._root)
            except (Unwritable, OSError) as why:
                self.locked = isinstance(why, Locked)
                break
        return Database(None)


def _nothing() -> None:
    """The work itself makes another file know what it must."""
