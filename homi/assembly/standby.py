"""The homi that was, standing by while the one that follows it starts.

Owns the process in which it waits: where the new one dies before every door is open,
it goes on itself.  Under a service manager nobody stands by: that starts it anew.
homid(8) has the steps.
"""

import contextlib
import os

from homi.inheritance import Bequest, Inherited

WORDS = "the new homi died at its start, this is the one from before"


def split(heir: Bequest) -> Inherited | None:
    """None in the process that is to become the new homi, always; what to go on with
    in another one, which is here only once the new one died.  To be called when
    nothing runs in this process any more."""
    heir.watched(-1)
    try:
        reader, writer = os.pipe()
    except OSError:  # there is no room for a descriptor: nobody stands by
        return None
    try:
        child = os.fork()
    except OSError:  # nor for a process
        os.close(reader)
        os.close(writer)
        return None
    if child:
        os.close(reader)
        os.waitpid(child, 0)
        heir.watched(writer)
        return None
    os.close(writer)
    _leave_parent()
    if os.read(reader, 1):
        os._exit(os.EX_OK)
    os.close(reader)
    return heir.kept(WORDS)


def _leave_parent() -> None:
    """Be the child of nobody: the new homi would not know whose end to wait for."""
    going = True
    with contextlib.suppress(OSError):
        going = os.fork() != 0
    if going:
        os._exit(os.EX_OK)
    os.setsid()
