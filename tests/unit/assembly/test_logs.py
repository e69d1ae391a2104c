"""Who writes the log: a thread, into files of a bounded size."""

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from homi import logfile
from homi.assembly import logs

TOLD = logging.getLogger("homi.told")


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """The handlers of everybody else stand again afterwards."""
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    yield
    root.handlers[:] = before
    root.setLevel(level)


def texts(root: Path) -> list[str]:
    """What stands in the log, in order."""
    found = [line for path in logfile.files(root) for line in logfile.read(path)]
    return [line.text for line in found]


def live(log: logs.Log) -> None:
    """A daemon that ends by a bug."""
    with log:
        TOLD.info("up")
        raise KeyError("a bug")


def test_what_ended_the_daemon_is_the_last_line(tmp_path: Path) -> None:
    """With its traceback: whoever looks has nothing else."""
    up = logs.Log(tmp_path, {})
    with pytest.raises(KeyError):
        live(up)
    found = list(logfile.read(logfile.place(tmp_path)))
    assert [line.text for line in found] == ["up", "ended: 'a bug'"]
    assert found[1].more[-1] == "KeyError: 'a bug'"


def test_a_large_file_is_put_aside_and_few_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A daemon that runs for years fills no disk."""
    monkeypatch.setattr(logfile, "SIZE", 200)
    with logs.Log(tmp_path, {}):
        for number in range(60):
            TOLD.info("line %d", number)
    kept = logfile.files(tmp_path)
    assert len(kept) == 1 + logfile.KEPT
    assert texts(tmp_path)[-1] == "line 59"
    assert {oct(path.stat().st_mode & 0o777) for path in kept} == {"0o600"}


def test_a_file_that_cannot_be_put_aside_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Something stands where the older ones go: no line is lost for that."""
    monkeypatch.setattr(logfile, "SIZE", 200)
    for number in range(1, logfile.KEPT + 1):
        (tmp_path / logfile.FOLDER / f"{logfile.NAME}.{number}").mkdir(parents=True)
    (tmp_path / logfile.FOLDER).chmod(0o700)
    with logs.Log(tmp_path, {}):
        for number in range(60):
            TOLD.info("line %d", number)
    assert texts(tmp_path) == [f"line {number}" for number in range(60)]


def test_journald_is_told_the_level_and_no_date(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """It has the date itself; another stream gets the line of the file."""
    found = os.fstat(2)
    for stream in (f"{found.st_dev}:{found.st_ino}", "1:1"):
        with logs.Log(tmp_path, {"JOURNAL_STREAM": stream}):
            TOLD.warning("look")
    first, second = capfd.readouterr().err.splitlines()
    assert first == "<4>told: look"
    assert second.endswith("Z warning told: look")


def test_lines_that_a_slow_disk_cannot_take_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loop waits for no log."""
    log = logs.Log(tmp_path, {})
    monkeypatch.setattr(logs, "WAITING_MAX", 2)
    queue = logging.getLogger("homi.unheard")
    queue.propagate = False
    queue.addHandler(log._queue)
    for number in range(4):
        queue.warning("line %d", number)
    monkeypatch.setattr(logs, "WAITING_MAX", 9)
    queue.warning("last")
    queue.removeHandler(log._queue)
    with log:
        pass
    lost = "2 lines were not written: the disk was too slow for them"
    assert texts(tmp_path) == ["line 0", "line 1", lost, "last"]
