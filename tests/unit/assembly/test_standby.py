"""Whoever stands by over a restart, where the system has no room for it."""

import errno
import os
from typing import NoReturn

import msgspec
import pytest

from homi.assembly import standby
from homi.inheritance import VARIABLE, Bequest, Estate


@pytest.mark.parametrize("call", ["pipe", "fork"])
def test_with_room_for_nobody_the_new_homi_is_run_and_knows_it_would_be_missed(
    monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """The restart after that may find room again."""

    def full() -> NoReturn:
        raise OSError(errno.EAGAIN, "no room")

    left: list[Estate] = []

    def run(_program: str, _argv: list[str], environment: dict[str, str]) -> NoReturn:
        will = os.pread(int(environment[VARIABLE]), 1 << 16, 0)
        left.append(msgspec.msgpack.decode(will, type=Estate))
        raise OSError(errno.ENOENT, "no program")

    heir, before = Bequest(), os.listdir("/dev/fd")
    with monkeypatch.context() as patch:
        patch.setattr(os, call, full)
        assert standby.split(heir) is None
    assert os.listdir("/dev/fd") == before
    monkeypatch.setattr(os, "execve", run)
    with pytest.raises(OSError, match="no program"):
        heir.hand_over(["homi"], {})
    assert [(each.unattended, each.ready) for each in left] == [(True, -1)]
