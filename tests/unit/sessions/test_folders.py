"""Which files changed, and folders that come and go."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from homi.folders import FolderWatch
from tests.unit.sessions.place import LIMIT, run


class Told:
    """What a watch told, to be waited for."""

    def __init__(self, *folders: Path, notices: bool = True) -> None:
        self.calls: list[tuple[str, list[str] | None]] = []
        self._news = asyncio.Event()
        paths = [str(folder) for folder in folders]
        self.watch = FolderWatch(paths, self._note, notices=notices)

    def _note(self, folder: str, names: list[str] | None) -> None:
        self.calls.append((os.path.basename(folder), names))
        self._news.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait for calls until the condition holds."""
        async with asyncio.timeout(LIMIT):
            while not condition():
                self._news.clear()
                await self._news.wait()


def _touch(path: Path) -> None:
    path.write_text("x")


def test_names_come_once_in_order_of_their_last_change(tmp_path: Path) -> None:
    """A burst is one call; who changed last is read last."""

    async def main() -> None:
        told = Told(tmp_path)
        told.watch.attach(asyncio.get_running_loop())
        for name in ("a", "b", "c", "a"):
            _touch(tmp_path / name)
        (tmp_path / "b").unlink()
        (tmp_path / "c").rename(tmp_path / "d")
        await told.until(lambda: bool(told.calls))
        assert told.calls == [(tmp_path.name, ["a", "b", "c", "d"])]
        told.watch.detach()

    run(main)


def test_absent_folders_under_one_parent_are_told_apart(tmp_path: Path) -> None:
    """One watch of the parent serves both, until the second is found too."""

    async def main() -> None:
        first, second = tmp_path / "first", tmp_path / "x" / "second"
        told = Told(first, second)
        told.watch.attach(asyncio.get_running_loop())
        _touch(tmp_path / "noise")
        first.mkdir()
        await told.until(lambda: ("first", None) in told.calls)
        assert ("second", None) not in told.calls
        second.mkdir(parents=True)
        await told.until(lambda: ("second", None) in told.calls)
        _touch(first / "a")
        _touch(second / "b")
        await told.until(lambda: len(told.calls) >= 4)
        assert told.calls[-2:] == [("first", ["a"]), ("second", ["b"])]
        told.watch.detach()

    run(main)


def test_a_folder_inside_a_watched_one_is_watched_beside_it(tmp_path: Path) -> None:
    """The kernel has one watch an inode; it must serve both uses."""

    async def main() -> None:
        inner = tmp_path / "inner"
        told = Told(tmp_path, inner)
        told.watch.attach(asyncio.get_running_loop())
        inner.mkdir()
        await told.until(lambda: ("inner", None) in told.calls)
        _touch(tmp_path / "a")
        _touch(inner / "b")
        await told.until(lambda: ("inner", ["b"]) in told.calls)
        assert (tmp_path.name, ["a"]) in told.calls
        told.watch.detach()

    run(main)


@pytest.mark.parametrize("notices", [True, False])
def test_what_a_poll_finds_must_be_scanned(tmp_path: Path, *, notices: bool) -> None:
    """Without notices every call says 'anything'; with them, which file."""

    async def main() -> None:
        told = Told(tmp_path, notices=notices)
        told.watch.attach(asyncio.get_running_loop())
        _touch(tmp_path / "a")
        await told.until(lambda: bool(told.calls))
        assert told.calls == [(tmp_path.name, ["a"] if notices else None)]
        told.watch.detach()

    run(main)


def test_verify_finds_a_folder_that_was_swapped(tmp_path: Path) -> None:
    """A renamed parent gives the watched folder no notice."""

    async def main() -> None:
        folder = tmp_path / "a" / "b"
        folder.mkdir(parents=True)
        told = Told(folder)
        told.watch.attach(asyncio.get_running_loop())
        (tmp_path / "a").rename(tmp_path / "old")
        folder.mkdir(parents=True)
        told.watch.verify()
        _touch(tmp_path / "old" / "b" / "stale")
        _touch(folder / "fresh")
        await told.until(lambda: bool(told.calls))
        assert told.calls == [("b", ["fresh"])]
        told.watch.detach()

    run(main)
