"""What the process of a daemon is, before it is a daemon.

Owns its mask, descriptors, collector and signals.  homid(8).
"""

import asyncio
import gc
import os
import signal
from collections.abc import Callable
from pathlib import Path

from homi import paths
from homi.assembly.logs import Log
from homi.descriptors import fill_standard_descriptors, raise_file_limit

ENDS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def prepare(root: Path) -> Log:
    """Make this process one that can serve root; 73 and 78 where root cannot be
    served, before anything is written.  The log is not begun yet."""
    fill_standard_descriptors()
    os.umask(0o077)
    paths.control_socket(root)
    paths.make_private(root)
    raise_file_limit()
    # Each message makes a dozen objects that live until its commit: at the default
    # the collector would look at all pending mail again and again for nothing.
    gc.set_threshold(20_000, 50, 100)
    return Log(root, os.environ)


def hold_signals() -> None:
    """Let what would end this process wait, over an execve too, until somebody heeds
    it: meanwhile it would end the process as a kill does."""
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)


def heed_signals(loop: asyncio.AbstractEventLoop, end: Callable[[str], None]) -> None:
    """Have the signals that end it in order, and those that waited, call end in a turn
    of loop; nohup's wish is kept."""
    for number in ENDS:
        if number is signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN:
            continue
        loop.add_signal_handler(number, end, signal.Signals(number).name)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDS)
