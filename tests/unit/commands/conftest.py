"""One run in a private folder, with its real supervisor."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from homi.address import Name
from homi.commands.run import Plan, Run, plan
from homi.commands.start import begin, environment
from homi.commands.template import Template
from homi.envelope import MessageId

PATIENCE = 60.0  # s


def ended(run: Run) -> Run:
    """Wait until its supervisor is gone."""
    deadline, pause = time.monotonic() + PATIENCE, threading.Event()
    while run.goes_on:
        assert time.monotonic() < deadline, "the run ends"
        pause.wait(0.01)
    return run


Begin = Callable[..., Run]


@pytest.fixture
def begun(tmp_path: Path) -> Begin:
    """Begin a run of a shell script; the run, which goes on or is over."""
    made = iter(range(1, 100))

    def start(script: str, letter: str = "a letter\n", **keys: object) -> Run:
        argv = ["/bin/sh", "-c", script]
        n = next(made)
        run = plan(
            str(tmp_path),
            Plan(
                n=n,
                name=Name("ada"),
                body="sh:ada",
                message=MessageId(f"00000000-0000-7000-8000-{n:012}"),
                argv=argv,
                cwd=str(tmp_path),
                template=Template(argv=argv, **keys),  # type: ignore[arg-type]
                at=0.0,
            ),
            letter,
        )
        env = environment((), "/bin:/usr/bin", str(tmp_path))
        assert begin(run, env) == ""
        return run

    return start
