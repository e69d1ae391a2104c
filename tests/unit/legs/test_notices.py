"""Hints of what moves in folders that are watched for a while."""

import asyncio
import os
from pathlib import Path

import pytest

from homi import inotify
from homi.legs.notices import Notices

pytestmark = pytest.mark.skipif(not inotify.available(), reason="needs inotify")


def descriptors() -> int:
    """How many descriptors this process has open."""
    return len(os.listdir("/proc/self/fd"))


def test_each_change_in_a_watched_folder_is_told(tmp_path: Path) -> None:
    """By name: written, created, moved in and out."""
    (tmp_path / "a").mkdir()
    told: asyncio.Queue[str] = asyncio.Queue()

    async def next_name() -> str:
        async with asyncio.timeout(60):
            return await told.get()

    async def main() -> None:
        notices = Notices()
        assert notices.watch(str(tmp_path / "a"), told.put_nowait)
        (tmp_path / "a" / "x.jsonl").write_bytes(b"1")
        assert await next_name() == "x.jsonl"
        (tmp_path / "a" / "x.jsonl").rename(tmp_path / "y")
        while not told.empty():
            told.get_nowait()
        (tmp_path / "y").rename(tmp_path / "a" / "z")
        names = {await next_name()}
        while "z" not in names:
            names.add(await next_name())
        notices.unwatch(str(tmp_path / "a"), told.put_nowait)
        notices.close()

    asyncio.run(main())


def test_one_descriptor_serves_every_watch_until_the_close(tmp_path: Path) -> None:
    """Two watchers of one folder share it, and so does who comes behind them."""

    async def main() -> None:
        before = descriptors()
        notices = Notices()
        first: list[str] = []
        second: list[str] = []
        folder = str(tmp_path)
        assert notices.watch(folder, first.append)
        assert notices.watch(folder, second.append)
        assert descriptors() == before + 1
        notices.unwatch(folder, first.append)
        assert descriptors() == before + 1
        notices.unwatch(folder, second.append)
        notices.unwatch(folder, second.append)
        assert notices.watch(folder, first.append)
        assert descriptors() == before + 1
        notices.close()
        assert descriptors() == before
        notices.close()

    asyncio.run(main())


def test_a_folder_that_is_not_there_is_no_error(tmp_path: Path) -> None:
    """Whoever asked looks by a timer as well."""

    async def main() -> None:
        before = descriptors()
        notices = Notices()
        assert not notices.watch(str(tmp_path / "none"), print)
        notices.close()
        assert descriptors() == before

    asyncio.run(main())
