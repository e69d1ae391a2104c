"""The runs of a daemon: one at a time, whatever goes wrong on the way."""

import asyncio
import errno
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from homi.address import Name
from homi.commands import run
from homi.commands.run import Plan
from homi.commands.runs import KEPT, Runs
from homi.commands.template import Template
from homi.commands.verdict import Done, Failed, Verdict
from homi.envelope import MessageId
from homi.errors import StorageFailed

BODY = "sh:ada"
PATIENCE = 60.0  # s

Body = Callable[[Runs, list[Verdict]], Awaitable[None]]


def planned(runs: Runs, script: str) -> Plan:
    n = runs.number()
    argv = ["/bin/sh", "-c", script]
    return Plan(
        n=n,
        name=Name("ada"),
        body=BODY,
        message=MessageId(f"00000000-0000-7000-8000-{n:012}"),
        argv=argv,
        cwd="/",
        template=Template(argv=argv),
        at=2e9,
    )


async def over(runs: Runs) -> None:
    """Wait until no run goes on."""
    free = asyncio.Event()
    runs.changed = lambda: None if runs.busy(BODY) else free.set()
    runs.changed()
    async with asyncio.timeout(PATIENCE):
        await free.wait()


def in_daemon(root: Path, body: Body) -> list[Verdict]:
    """Have body act on the runs of root, as one life of a daemon; what was told."""
    told: list[Verdict] = []

    async def live() -> None:
        runs = Runs(str(root))
        runs.ended = lambda _run, verdict: told.append(verdict)
        runs.start(asyncio.get_running_loop())
        try:
            await body(runs, told)
        finally:
            runs.stop()

    asyncio.run(live())
    return told


def test_a_run_is_told_once_and_frees_its_binding(tmp_path: Path) -> None:
    """The next may begin then, and not before."""

    async def body(runs: Runs, told: list[Verdict]) -> None:
        plan = planned(runs, "exit 0")
        assert await runs.begin(plan, "a", "/bin") == ""
        assert runs.busy(BODY)
        assert runs.has(BODY, plan.message)
        await over(runs)
        assert told == [Done()]
        assert not runs.has(BODY, plan.message)
        runs.settle(BODY, plan.message)

    in_daemon(tmp_path, body)
    # What is settled is not told again by the next.
    assert in_daemon(tmp_path, _nothing) == []


def test_what_was_not_settled_is_told_again_by_the_next_daemon(tmp_path: Path) -> None:
    """The ledger may not have it."""

    async def body(runs: Runs, _told: list[Verdict]) -> None:
        await runs.begin(planned(runs, "exit 0"), "a", "/bin")
        await over(runs)

    async def again(runs: Runs, _told: list[Verdict]) -> None:
        assert runs.busy(BODY)
        await over(runs)

    assert in_daemon(tmp_path, body) == [Done()]
    assert in_daemon(tmp_path, again) == [Done()]


def test_a_beginning_nobody_waits_for_is_watched_all_the_same(tmp_path: Path) -> None:
    """A hand-over that is given up must not let a second run in."""

    async def body(runs: Runs, told: list[Verdict]) -> None:
        plan = planned(runs, "exit 0")
        offer = asyncio.create_task(runs.begin(plan, "a", "/bin"))
        runs.hook = lambda point: point == "run-planned" and offer.cancel()
        with pytest.raises(asyncio.CancelledError):
            await offer
        assert runs.busy(BODY)
        await over(runs)
        assert told == [Done()]

    in_daemon(tmp_path, body)


def test_three_failures_hold_and_the_next_daemon_knows(tmp_path: Path) -> None:
    """Until somebody goes on; a success in between starts the count anew."""

    async def fail(runs: Runs, _told: list[Verdict]) -> None:
        for script in ("exit 1", "exit 1", "exit 0", "exit 1", "exit 1", "exit 1"):
            assert not runs.held(BODY)
            plan = planned(runs, script)
            await runs.begin(plan, "a", "/bin")
            await over(runs)
            runs.settle(BODY, plan.message)

    async def resume(runs: Runs, _told: list[Verdict]) -> None:
        assert runs.held(BODY)
        runs.resume(BODY)
        assert not runs.held(BODY)

    told = in_daemon(tmp_path, fail)
    assert told.count(Failed("exit 1")) == 5
    in_daemon(tmp_path, resume)

    async def after(runs: Runs, _told: list[Verdict]) -> None:
        assert not runs.held(BODY)

    in_daemon(tmp_path, after)
    assert len(os.listdir(tmp_path / "runs")) == KEPT


def test_what_cannot_be_kept_begins_nothing(tmp_path: Path) -> None:
    """And the binding is free again."""
    (tmp_path / "runs").write_text("in the way")

    async def body(runs: Runs, _told: list[Verdict]) -> None:
        with pytest.raises(Exception, match="cannot make"):
            await runs.begin(planned(runs, "exit 0"), "a", "/bin")
        assert not runs.busy(BODY)

    assert in_daemon(tmp_path, body) == []


def test_a_full_disk_leaves_no_halves_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each try would leave another letter there."""

    def full(_disk: object, path: str, _data: bytes) -> None:
        raise OSError(errno.ENOSPC, "full", path)

    async def body(runs: Runs, _told: list[Verdict]) -> None:
        with monkeypatch.context() as trouble:
            trouble.setattr(run, "write_whole", full)
            with pytest.raises(StorageFailed, match="full"):
                await runs.begin(planned(runs, "exit 0"), "a", "/bin")
        assert os.listdir(tmp_path / "runs") == []
        assert not runs.busy(BODY)
        await runs.begin(planned(runs, "exit 0"), "a", "/bin")
        await over(runs)

    assert in_daemon(tmp_path, body) == [Done()]


def test_what_a_death_left_before_the_plan_is_removed(tmp_path: Path) -> None:
    """It holds a letter and was never begun; one with a plan stays."""
    for name in ("00000003", "00000004"):
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / "letter").write_text("a secret")
    (tmp_path / "runs/00000004/plan.json").write_text("{")

    async def body(runs: Runs, _told: list[Verdict]) -> None:
        assert runs.number() == 5

    in_daemon(tmp_path, body)
    assert os.listdir(tmp_path / "runs") == ["00000004"]


def test_a_lock_that_cannot_be_made_begins_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where no more files may be open: it is said, and the binding is free."""
    opened = os.open

    def none_left(path: str, flags: int, mode: int = 0o777) -> int:
        if str(path).endswith("/lock"):
            raise OSError(errno.EMFILE, "too many open files", path)
        return opened(path, flags, mode)

    async def body(runs: Runs, _told: list[Verdict]) -> None:
        with monkeypatch.context() as trouble:
            trouble.setattr(os, "open", none_left)
            why = await runs.begin(planned(runs, "exit 0"), "a", "/bin")
        assert "too many open files" in why
        assert not runs.busy(BODY)

    assert in_daemon(tmp_path, body) == []


def test_an_end_that_cannot_be_told_keeps_no_binding_busy(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is logged, and told again by the next daemon."""

    async def body(runs: Runs, _told: list[Verdict]) -> None:
        def broken(_run: object, _verdict: object) -> None:
            raise ValueError("no such thing")

        runs.ended = broken
        await runs.begin(planned(runs, "exit 0"), "a", "/bin")
        await over(runs)

    in_daemon(tmp_path, body)
    assert "was not told" in caplog.text

    async def again(runs: Runs, _told: list[Verdict]) -> None:
        await over(runs)

    assert in_daemon(tmp_path, again) == [Done()]


async def _nothing(_runs: Runs, _told: list[Verdict]) -> None:
    """Start and stop."""
