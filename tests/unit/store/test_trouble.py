"""A mailbox or queue that takes no line: which file, why, and what mends it."""

import errno
import os
import shlex
from pathlib import Path

import pytest

from homi.store.base import Kept, Mail
from homi.store.places import folder_of
from homi.store.store import DiskStore
from homi.store.trouble import unusable
from tests.unit.store.commit_kit import mail, new_id
from tests.unit.store.test_store import opened, run, submit


@pytest.mark.parametrize("place", ["@mini", "ada"])
def test_a_file_in_the_place_of_the_folder_is_named_and_its_fix_heals(
    tmp_path: Path, place: str
) -> None:
    """Without a restart; no other queue is touched, and what stood there is kept."""
    root = tmp_path / "s"

    async def test(store: DiskStore) -> None:
        way = root / folder_of(mail(place).place)
        way.parent.mkdir(mode=0o700, exist_ok=True)
        way.write_text("x")
        one = mail(place)
        assert await submit(store, one, mail("@max")) == [Kept.FAILED, Kept.STORED]
        error = store.refusal(one.place)
        assert error.text == f"not stored: {way}: Not a directory"
        assert error.hint == f"mv {way} {root / way.name}.aside"
        move, *names = shlex.split(error.hint)
        assert move == "mv"
        os.rename(*names)
        assert await submit(store, one) == [Kept.STORED]
        assert (root / f"{way.name}.aside").read_text() == "x"

    run(opened(root), test)


def test_a_queue_that_was_unusable_at_the_start_says_so_until_the_next(
    tmp_path: Path,
) -> None:
    root = tmp_path / "s"
    ident = new_id()

    def one() -> Mail:
        return mail("@mini", message=ident)

    async def before(store: DiskStore) -> None:
        assert await submit(store, one()) == [Kept.STORED]

    async def broken(store: DiskStore) -> None:
        assert await submit(store, one(), mail("@max")) == [Kept.FAILED, Kept.STORED]
        error = store.refusal(one().place)
        assert error.text == f"not stored: {queue}: Is a directory"
        assert error.hint == f"mv {queue} {root}/queue.jsonl.aside && homi restart"

    run(opened(root), before)
    queue = root / "out" / "mini" / "queue.jsonl"
    lines = queue.read_bytes()
    queue.unlink()
    queue.mkdir()
    run(opened(root), broken)
    queue.rmdir()
    queue.write_bytes(lines)

    async def mended(store: DiskStore) -> None:
        assert await submit(store, one()) == [Kept.KNOWN]

    run(opened(root), mended)


def test_who_may_not_open_it_is_told_how_to(tmp_path: Path) -> None:
    """A folder that is ours; of one that is another's nobody can say it."""
    path = tmp_path / "out" / "mini" / "queue.jsonl"
    path.parent.mkdir(parents=True)
    path.touch()
    barred = OSError(errno.EACCES, os.strerror(errno.EACCES))
    error = unusable(str(path), str(tmp_path), barred, until_restart=True)
    assert error.hint == f"chmod u+rwX {path} && homi restart"
    full = OSError(errno.EMFILE, os.strerror(errno.EMFILE))
    error = unusable(str(path), str(tmp_path), full, until_restart=False)
    assert error.text == f"not stored: {path}: {os.strerror(errno.EMFILE)}"
    assert error.hint == "send it again"
    away = OSError(errno.ENXIO, "No such device")
    error = unusable(str(path), str(tmp_path), away, until_restart=True)
    assert error.hint == f"mend {path}, then homi restart"
