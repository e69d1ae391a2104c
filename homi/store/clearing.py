"""What is asked of a store that runs: blobs that nobody names, removed.

Owns that what is named meanwhile stays; which go is judged elsewhere.  All on the
loop but for the reading and removing.  homi-prune(1) has the rule.
"""

import os
from asyncio import AbstractEventLoop
from collections.abc import Callable, Iterable, Iterator

from homi.errors import StorageFailed
from homi.reports import PrunedRow
from homi.store.base import Mail, Pruned
from homi.store.blobs import FOLDER
from homi.store.disk import Disk
from homi.store.unnamed import GONE, ROW, Unnamed, look, unnamed
from homi.store.worker import Worker

AT_ONCE = 100  # of them between two turns of the loop


class Clearing:
    """The requests of one store."""

    def __init__(
        self,
        root: str,
        disk: Disk,
        worker: Worker,
        loop: AbstractEventLoop,
        coming: Callable[[], Iterable[Mail]],
    ) -> None:
        """coming: what was submitted, and may not stand in its journal yet."""
        self._root = root
        self._folder = os.path.join(root, FOLDER)
        self._disk = disk
        self._worker = worker
        self._loop = loop
        self._coming = coming
        self._asked = 0  # requests on their way
        self._named = set[str]()  # since the first of them

    def named(self, blobs: Iterable[str]) -> None:
        """Mail that names these is submitted."""
        if self._asked:
            self._named.update(blobs)

    def ask(self, before: float, done: Pruned) -> None:
        """Remove what is older than that, and nobody names, then done."""
        self._asked += 1
        for mail in self._coming():
            self.named(mail.head.blobs)

        def over(rows: list[PrunedRow], error: BaseException | None) -> None:
            self._asked -= 1
            if not self._asked:
                self._named.clear()
            if error is not None and not isinstance(error, OSError):
                raise error
            done(rows, error)

        def found(old: list[Unnamed] | None, error: BaseException | None) -> None:
            if not old:
                over([], error)
            else:
                self._take(iter(old), [], before, over)

        self._worker.put(lambda: unnamed(self._disk, self._root, before), found)

    def _take(
        self,
        old: Iterator[Unnamed],
        taken: list[Unnamed],
        before: float,
        over: Callable[[list[PrunedRow], BaseException | None], None],
    ) -> None:
        """Take their names away; then, beside the loop, what they were."""
        for _ in range(AT_ONCE):
            one = next(old, None)
            if one is None:
                break
            try:
                if self._hide(one.name, before):
                    taken.append(one)
            except OSError as error:
                self._drop(taken, error, over)
                return
        else:
            self._loop.call_soon(self._take, old, taken, before, over)
            return
        self._drop(taken, None, over)

    def _hide(self, name: str, before: float) -> bool:
        """Give it the name of what goes, unless somebody wants it by now.  On the
        loop: no mail that names it, and no question for it, comes in between."""
        if name.endswith(GONE):
            return True
        path = os.path.join(self._folder, name)
        if name in self._named or not _is_older(path, before):
            return False
        hidden = self._hidden(name)
        self._disk.rename(path, hidden)
        if _is_older(hidden, before):
            return True
        # Another process finished one in that moment: it is as good as the old one.
        self._disk.rename(hidden, path)
        return False

    def _drop(
        self,
        taken: list[Unnamed],
        failed: OSError | None,
        over: Callable[[list[PrunedRow], BaseException | None], None],
    ) -> None:
        """Remove what has no name any more, then tell."""

        def removed(gone: int | None, error: BaseException | None) -> None:
            if error is not None and not isinstance(error, OSError):
                over([], error)
                return
            whole = taken[: gone or 0]
            trouble = error or failed
            over(_rows(whole, trouble if isinstance(trouble, OSError) else None), None)

        self._worker.put(lambda: self._remove(taken), removed)

    def _remove(self, taken: list[Unnamed]) -> int:
        """In the thread: how many went, which is all."""
        for one in taken:
            path = self._hidden(one.name)
            if look(path) is not None:
                self._disk.unlink(path)
        if taken:
            self._disk.sync_dir(self._folder)
        return len(taken)

    def _hidden(self, name: str) -> str:
        """What a file is called that goes."""
        if name.endswith(GONE):
            return os.path.join(self._folder, name)
        stem = name.removeprefix(".").partition(".")[0]
        return os.path.join(self._folder, f".{stem}{GONE}")


def _is_older(path: str, before: float) -> bool:
    """Whether there is a file of its own, that old."""
    found = look(path)
    return found is not None and found.st_mtime < before


def _rows(gone: list[Unnamed], error: OSError | None) -> list[PrunedRow]:
    """What went as it is told."""
    if not gone and error is None:
        return []
    row = PrunedRow(name=ROW, files=len(gone), bytes=sum(one.size for one in gone))
    if error is None:
        return [row]
    text = f"cannot remove all of it: {error.strerror or error}"
    return [
        PrunedRow(
            name=ROW,
            files=row.files,
            bytes=row.bytes,
            code=StorageFailed.code,
            error=text,
        )
    ]
