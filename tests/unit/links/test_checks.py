"""Probes and checks, with another end that a test plays."""

import asyncio
import errno
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from homi.clock import SystemClock
from homi.errors import HomiError
from homi.links import checks
from homi.links.checks import Check, Found, Kept, Probes
from homi.links.frames import Refusal, Req, Res
from homi.store.disk import RealDisk


class Far:
    """The other end of an exchange."""

    def __init__(self, answers: list[Res | None]) -> None:
        self.answers = answers
        self.asked = 0

    def ask(
        self,
        verb: str,
        fields: dict[str, object],
        answered: Callable[[Res | None], None],
    ) -> None:
        assert verb == checks.VERB
        self.asked += 1
        if self.answers:
            answered(self.answers.pop(0))


class Heard:
    """The end that asked us."""

    def __init__(self) -> None:
        self.answers: list[msgspec.Struct | HomiError] = []
        self.both = asyncio.Event()

    def reply(self, i: int, answer: msgspec.Struct | HomiError) -> None:
        self.answers.append(answer)
        if len(self.answers) == 2:
            self.both.set()


def run(probes: Probes, far: Far) -> Found:
    async def scene() -> Found:
        done = asyncio.get_running_loop().create_future()
        Check(probes, far, asyncio.get_running_loop(), SystemClock(), done.set_result)
        found: Found = await done
        return found

    return asyncio.run(scene())


OK = Res(i=1, ok=msgspec.Raw(b"{}"))
NO = Res(i=1, error=Refusal(code="io", text="the disk: full"))


def test_three_of_three_are_kept_here_before_they_are_asked_for_there(
    tmp_path: Path,
) -> None:
    far = Far([OK, OK, OK])
    found = run(Probes(str(tmp_path), RealDisk(), str), far)
    assert (len(found.ms), found.text, far.asked) == (3, "", 3)
    assert (tmp_path / "probe").stat().st_size == 33


@pytest.mark.parametrize(
    ("answers", "kept", "text"),
    [
        ([OK, NO, OK], 2, "there: the disk: full"),
        ([NO, OK, NO], 1, "there: the disk: full"),
        ([None, None, None], 0, "the connection ended"),
    ],
)
def test_each_that_fails_is_counted_and_told(
    tmp_path: Path, answers: list[Res | None], kept: int, text: str
) -> None:
    found = run(Probes(str(tmp_path), RealDisk(), str), Far(answers))
    assert (len(found.ms), found.text) == (kept, text)


def test_one_without_an_answer_is_given_up_and_the_next_is_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "WITHIN", 0.5)  # a sync here is part of it
    far = Far([])
    found = run(Probes(str(tmp_path), RealDisk(), str), far)
    assert (found.ms, far.asked) == ([], 3)
    assert "no answer" in found.text


def test_a_store_that_takes_nothing_or_a_disk_that_fails_fails_the_probe(
    tmp_path: Path,
) -> None:
    found = run(Probes(str(tmp_path), RealDisk(), lambda: "a sync failed"), Far([OK]))
    assert (found.ms, found.text) == (
        [],
        "here: the store takes nothing: a sync failed",
    )

    class Full(RealDisk):
        def pwrite(self, fd: int, data: bytes, offset: int) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    found = run(Probes(str(tmp_path), Full(), str), Far([OK]))
    assert found.ms == []
    assert found.text.startswith("here: ")


def test_another_end_is_answered_behind_the_disk_one_at_a_time(tmp_path: Path) -> None:
    heard = Heard()

    async def scene() -> None:
        loop = asyncio.get_running_loop()
        probes = Probes(str(tmp_path), RealDisk(), str)
        probes.asked(heard, Req(i=1, verb="probe"), loop)
        probes.asked(heard, Req(i=2, verb="probe"), loop)
        assert isinstance(heard.answers[0], HomiError)
        await asyncio.wait_for(heard.both.wait(), 60)

    asyncio.run(scene())
    assert heard.answers[1] == Kept()
    assert (tmp_path / "probe").exists()
