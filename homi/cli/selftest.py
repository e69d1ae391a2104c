"""`selftest`: two agents and a daemon of their own.  homi-selftest(1)."""

import os
import signal
from types import FrameType

import click

from homi.cli import options, output
from homi.errors import Bug
from homi.render import cell
from homi.selftest.place import Place
from homi.selftest.trial import steps


@click.command()
@options.as_json
def selftest(*, as_json: bool) -> int:
    """See that mail goes on this machine, in a place of its own.

    \b
      $ homi selftest
    """
    signal.signal(signal.SIGTERM, _ended)  # nothing is left behind then, either
    with Place() as place:
        for one in steps(place):
            if as_json:
                output.json_line(one)
            else:
                output.line(f"{one.step}\t{one.ms:.0f} ms\t{cell(one.text)}")
            if not one.ok:
                raise Bug(f"{one.step} failed: {cell(one.text)}", hint="homi doctor")
    return os.EX_OK


def _ended(_number: int, _frame: FrameType | None) -> None:
    """Told to end: as by Ctrl-C, and once, since the rest is for leaving nothing."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt
