"""A text that was refused a way out gets out by no other hand, and stands nowhere."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from homi.address import OWNER
from homi.clock import SystemClock
from homi.envelope import Kind, Via, Was
from homi.errors import BadMessage, StorageFailed
from homi.links.leaving import leaving
from homi.postmaster import Stamp
from homi.store.blobs import Blobs
from homi.store.disk import RealDisk
from homi.withheld import AGE, FILE, KEPT, Withheld
from tests.unit.postmaster.test_outward import SECRET, permitted, run  # noqa: F401
from tests.unit.postmaster.test_postmaster import Bench, Turned, letter

AGENT = Stamp(Via(door="peer", uid=0, pid=7, session="s-7", verified=True))
SERVICE = Stamp(Via(door="control", uid=0, pid=8))
SPOOLED = Stamp(Via(door="pickup", uid=0, pid=9))
HISTORY = Stamp(Via(door="import", was=Was(at="2026-01-01T00:00:00Z")))
TEXT = f"the file ends so:\n{SECRET}"
AGAIN = f"The file\u200b ends so:   {SECRET.lower()}\n"
Run = Callable[..., None]


def kept(bench: Bench, root: Path) -> Withheld:
    bench.postmaster.outward.withheld = Withheld.of(str(root), bench.clock, RealDisk())
    return bench.postmaster.outward.withheld


def test_it_reaches_no_other_name_here_and_the_refusal_names_the_first(
    run: Run,  # noqa: F811
    tmp_path: Path,
) -> None:
    """Whoever sends it, as whatever; the controls: another text, the person, itself."""

    async def scenario(bench: Bench) -> None:
        kept(bench, tmp_path)
        assert (await bench.send(letter(text=AGAIN), AGENT)).kept  # not refused yet
        first = letter("gds@lab", TEXT)
        assert not (await bench.send(first, AGENT)).kept
        for other in (
            letter("bob", TEXT),
            letter("bob", AGAIN, kind=Kind.ASK),
            letter("gds@pi", TEXT),
            letter("gds@lab", TEXT.upper(), kind=Kind.ASK),
        ):
            result = await bench.send(other, AGENT)
            assert result.error is not None
            assert result.error.reason == "scan"
            assert f"{first.id} of ada" in result.error.text
        assert not (await bench.send(letter("bob", TEXT), HISTORY)).kept
        assert (await bench.send(letter("bob", "the file is yours"), AGENT)).kept
        assert (await bench.send(letter(OWNER, TEXT), AGENT)).kept
        assert (await bench.send(letter("ada", TEXT), AGENT)).kept
        for unproven in (SERVICE, SPOOLED):  # whoever it was may not be ada
            assert not (await bench.send(letter("ada", TEXT), unproven)).kept
        assert (await bench.send(letter("bob", TEXT))).kept  # a person, at a terminal

    run(scenario)


def test_what_is_stored_already_stays_known_as_that(
    run: Run,  # noqa: F811
    tmp_path: Path,
) -> None:
    """A second try of the same message is no second message."""

    async def scenario(bench: Bench) -> None:
        kept(bench, tmp_path)
        early = letter("bob", TEXT)
        assert (await bench.send(early, AGENT)).kept
        assert not (await bench.send(letter("gds@lab", TEXT), AGENT)).kept
        assert (await bench.send(early, AGENT)).duplicate
        assert not (await bench.send(letter("bob", TEXT), AGENT)).kept

    run(scenario)


def test_a_person_lets_one_message_pass_and_no_other(
    run: Run,  # noqa: F811
    tmp_path: Path,
) -> None:
    """Approval is of that message, not of its text."""

    async def scenario(bench: Bench) -> None:
        kept(bench, tmp_path)
        assert not (await bench.send(letter("gds@lab", TEXT), AGENT)).kept
        assert (await permitted(bench, letter("gds@lab", TEXT))).kept
        assert not (await bench.send(letter("gds@lab", TEXT))).kept
        assert not (await bench.send(letter("bob", TEXT), AGENT)).kept

    run(scenario)


def test_it_outlives_the_daemon_and_the_words_stand_nowhere(
    run: Run,  # noqa: F811
    tmp_path: Path,
) -> None:
    """A stump in the file costs no more than itself, and is set aside."""

    async def scenario(bench: Bench) -> None:
        kept(bench, tmp_path)
        await bench.send(letter("gds@lab", TEXT), AGENT)
        file = tmp_path / FILE
        file.write_bytes(file.read_bytes() + b'{"type":"refused"}\n')
        again = kept(bench, tmp_path)
        assert [one.path for one in again.repair()] == [str(file)]
        assert not again.repair()
        assert file.read_bytes().count(b"\n") == 2
        assert not (await bench.send(letter("bob", TEXT), AGENT)).kept

    run(scenario)
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or b"hunter2" not in path.read_bytes()


def test_no_blob_of_that_text_leaves(
    run: Run,  # noqa: F811
    tmp_path: Path,
) -> None:
    """Not even one whose secret no rule finds any more; the control is another."""

    async def scenario(bench: Bench) -> None:
        harmless = "all the words of a file that once had something in it"
        kept(bench, tmp_path).remember(letter("gds@lab", harmless))
        blobs = Blobs(str(tmp_path), RealDisk())
        (tmp_path / "blobs").mkdir()
        for name, text in (("a" * 64, harmless), ("b" * 64, "other words")):
            (tmp_path / "blobs" / name).write_text(text)
        with pytest.raises(BadMessage, match="refused a way out"):
            leaving(blobs, "a" * 64)
        assert leaving(blobs, "b" * 64)[1] == len("other words")
        (tmp_path / FILE).unlink()
        (tmp_path / FILE).mkdir()  # what cannot be read may hold any mark
        before = len(os.listdir("/dev/fd"))
        with pytest.raises(StorageFailed, match="cannot read"):
            leaving(blobs, "b" * 64)
        assert len(os.listdir("/dev/fd")) == before

    run(scenario)


def test_the_oldest_are_forgotten(tmp_path: Path) -> None:
    """By number and by age, in memory and in the file."""
    clock = Turned()
    texts = Withheld.of(str(tmp_path), clock, RealDisk())
    for number in range(KEPT + 1):
        texts._keep(_line(texts, f"text {number}"))  # the file would cost a sync each
    assert texts.find("text 0") is None
    assert texts.find("text 1") is not None
    clock.now = SystemClock().wall() + AGE + 1
    assert texts.find("text 1") is None
    texts.forget()
    assert not texts


def _line(texts: Withheld, text: str) -> object:
    other = Withheld(None, SystemClock())
    other._salt = texts._salt = "s"
    other.remember(letter("gds@lab", text))
    return next(iter(other._marks.values()))
