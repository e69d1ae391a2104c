"""Every way a command can fail has its status; a bug has one of its own."""

import errno
import os

import pytest

from homi.cli import fast
from homi.errors import NoSuchName


def failing(error: BaseException) -> object:
    def run(_args: list[str]) -> int:
        raise error

    return run


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (NoSuchName("no name ada here", hint="homi ls"), 67, "homi: hint: homi ls"),
        (KeyboardInterrupt(), 130, ""),
        (UnicodeEncodeError("utf-8", "\udcff", 0, 1, "no"), 64, "not UTF-8"),
        (OSError(errno.EIO, "Input/output error"), 74, "Input/output error"),
        (ZeroDivisionError("x"), 70, "a bug of homi"),
        (RecursionError("deep"), 70, "a bug of homi"),
    ],
)
def test_a_failure_ends_with_its_status_and_one_line(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    status: int,
    said: str,
) -> None:
    """A caller that scripts homi must be able to tell a refusal from a bug."""
    monkeypatch.setattr(fast, "run", failing(error))
    assert fast.guarded(["ls"]) == status
    told = capsys.readouterr()
    assert said in told.err
    assert told.out == ""
    assert ("Traceback" in told.err) == (status == os.EX_SOFTWARE)


def test_what_succeeds_has_its_own_status(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control of the table above."""
    monkeypatch.setattr(fast, "run", lambda _args: 0)
    assert fast.guarded(["ls"]) == 0
