"""Why a mailbox, or the queue for a device, takes no line: the file, the fact, the fix.

Owns the words; who finds it says so in store.journal.  homi-mailbox(5).
"""

import errno
import os

from homi.errors import StorageFailed
from homi.store.whole import aside_by_hand, remedy

_IN_THE_WAY = frozenset({errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.EINVAL})


def unknown(why: str) -> StorageFailed:
    """While the store takes nothing after a failed sync or write, or stops."""
    return StorageFailed(
        f"not known to be stored: {why}",
        hint="send it again with the same id; a repeat is recognised",
        reason="disk",
    )


def unusable(
    path: str, root: str, error: OSError, *, until_restart: bool
) -> StorageFailed:
    """Of a journal at path that cannot be opened; nothing went into it.
    until_restart: nor does anything before the daemon looks again."""
    at = _blocking(path, root) if error.errno == errno.ENOTDIR else path
    in_the_way = error.errno in _IN_THE_WAY and not os.path.islink(at)
    fix = aside_by_hand(at, root) if in_the_way else remedy(at, error)
    again = "homi restart" if until_restart else ""
    if fix:
        hint = f"{fix} && {again}" if again else fix
    else:
        hint = f"mend {at}, then {again}" if again else "send it again"
    words = error.strerror or str(error)
    return StorageFailed(f"not stored: {at}: {words}", hint=hint, reason="disk")


def _blocking(path: str, root: str) -> str:
    """The first on the way from root to path that is no folder."""
    at = root
    for part in os.path.relpath(path, root).split(os.sep)[:-1]:
        at = os.path.join(at, part)
        if os.path.lexists(at) and not os.path.isdir(at):
            return at
    return path
