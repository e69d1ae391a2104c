"""What the process of a daemon is, before it is a daemon.

Owns its mask, descriptors, collector and signals.  homid(8).
"""

import gc
import os
import signal
from pathlib import Path

from homi import paths
from homi.assembly.logs import Log
from homi.descriptors import fill_standard_descriptors, raise_file_limit


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


def ends_by() -> list[signal.Signals]:
    """The signals that end it in order; nohup's wish is kept."""
    ends = [signal.SIGTERM, signal.SIGINT]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        ends.append(signal.SIGHUP)
    return ends
