"""The descriptors of a process that serves: the first three filled, many allowed.

Owns what is done about them before the first socket.  homid(8).
"""

import os
import resource


def fill_standard_descriptors() -> None:
    """No socket of ours may be descriptor 0, 1 or 2: the loop aborts where it closes
    one of these, and whatever prints would write into it."""
    while (fd := os.open(os.devnull, os.O_RDWR)) < 3:
        pass
    os.close(fd)


def raise_file_limit() -> None:
    """A thousand names are a thousand descriptors, over the usual soft limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
