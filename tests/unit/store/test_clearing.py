"""Blobs are removed beside the mail, and none that somebody comes to want."""

import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from homi.address import Name
from homi.envelope import encode
from homi.reports import PrunedRow
from homi.store import clearing
from homi.store.base import Kept, Mail
from homi.store.blobs import Blobs
from homi.store.disk import RealDisk
from tests.unit.store.commit_kit import AT, VIA, mail
from tests.unit.store.test_unnamed import BEFORE, NAME, OTHER, blob
from tests.unit.store.test_upkeep import Life, run


def naming(*blobs: str) -> Mail:
    """A mail that names these."""
    one = mail()
    head = replace(one.head, blobs=list(blobs))
    msg = encode(head)
    tail = b'"at":"%b","to":"ada","via":%b,"msg":%b}\n' % (
        AT.encode(),
        encode(VIA),
        msg,
    )
    return Mail(Name("ada"), one.origin, head, VIA, msg, tail, lambda _mail: None)


def stands(root: Path) -> list[str]:
    """What there is in blobs/."""
    return sorted(os.listdir(root / "blobs"))


async def cleared(
    life: Life, meanwhile: Callable[[], object] = lambda: None
) -> tuple[list[PrunedRow], OSError | None]:
    """What a removal tells; meanwhile: done behind its question."""
    told: list[tuple[list[PrunedRow], OSError | None]] = []
    life.store.clear(BEFORE, lambda *what: told.append(what))
    meanwhile()
    await life.until(lambda: bool(told))
    return told[0]


def test_what_nobody_names_goes_and_is_counted(tmp_path: Path) -> None:
    """More of them than fit between two turns of the loop."""
    for n in range(clearing.AT_ONCE + 50):
        blob(tmp_path, f"{n:064x}")
    blob(tmp_path, NAME)
    blob(tmp_path, OTHER, time.time())

    async def scenario(life: Life) -> None:
        assert (await life.send(naming(NAME))).kept is Kept.STORED
        ((row,), error) = await cleared(life)
        count = clearing.AT_ONCE + 50
        assert (row.name, row.files, row.bytes, error) == (
            "blobs/",
            count,
            4 * count,
            None,
        )
        assert await cleared(life) == ([], None)

    run(tmp_path, scenario)
    assert stands(tmp_path) == [NAME, OTHER]


def test_mail_that_comes_meanwhile_keeps_its_blob(tmp_path: Path) -> None:
    """Whether it was submitted before the question, and not stored, or behind it."""
    third = "ef" * 32
    for name in (NAME, OTHER, third):
        blob(tmp_path, name)

    async def scenario(life: Life) -> None:
        engine = life.store._engine
        assert engine is not None
        engine._poke = lambda: None  # type: ignore[method-assign]
        life.store.submit(naming(NAME))
        ((row,), _) = await cleared(life, partial(life.store.submit, naming(OTHER)))
        assert row.files == 1
        del engine._poke
        engine._poke()

    run(tmp_path, scenario)
    assert stands(tmp_path) == [NAME, OTHER]


def test_what_is_asked_for_meanwhile_stays(tmp_path: Path) -> None:
    """Who is told that it is here sends mail that names it, and not it."""
    blob(tmp_path, NAME)
    blob(tmp_path, OTHER)
    blobs = Blobs(str(tmp_path), RealDisk())

    async def scenario(life: Life) -> None:
        ((row,), _) = await cleared(life, partial(blobs.renew, NAME))
        assert row.files == 1

    run(tmp_path, scenario)
    assert stands(tmp_path) == [NAME]


def test_one_that_another_process_finishes_in_that_moment_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It looked old when it was looked at."""
    path = blob(tmp_path, NAME)
    rename = RealDisk.rename

    def finished(a: str, b: str) -> None:
        if a == str(path):
            blob(tmp_path, NAME, time.time())
        rename(a, b)

    monkeypatch.setattr(RealDisk, "rename", staticmethod(finished))

    async def scenario(life: Life) -> None:
        assert await cleared(life) == ([], None)

    run(tmp_path, scenario)
    assert stands(tmp_path) == [NAME]


@pytest.mark.parametrize("step", ["rename", "unlink"])
def test_a_disk_that_refuses_is_told_and_the_next_one_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """What lost its name already is known by the one it has."""
    blob(tmp_path, NAME)

    def refused(*_args: object) -> None:
        raise PermissionError(13, "Permission denied")

    async def scenario(life: Life) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(RealDisk, step, staticmethod(refused))
            ((row,), error) = await cleared(life)
        assert (row.files, row.code, error) == (0, "io", None)
        assert "Permission denied" in row.error
        assert len(stands(tmp_path)) == 1
        ((row,), _) = await cleared(life)
        assert (row.files, row.code) == (1, "")

    run(tmp_path, scenario)
    assert stands(tmp_path) == []


def test_nothing_goes_while_accept_is_closed(tmp_path: Path) -> None:
    """A message that failed may stand in the ring, with what it names."""
    blob(tmp_path, NAME)

    async def scenario(life: Life) -> None:
        life.store._committer.closed = "no space"
        rows, error = await cleared(life)
        life.store._committer.closed = ""
        assert (rows, str(error)) == ([], "[Errno 5] accept is closed: no space")

    run(tmp_path, scenario)
    assert stands(tmp_path) == [NAME]
