"""Who is at the other end of a unix socket, by the kernel's word.

Owns the two ways of asking; knows nothing of sessions.
"""

import os
import socket
import struct
import sys

_CRED = struct.Struct("3i")  # pid, uid, gid: struct ucred of unix(7)
# sys/un.h of macOS: LOCAL_PEERPID at level SOL_LOCAL (0).
_SOL_LOCAL, _LOCAL_PEERPID = 0, 2


def peer_credentials(connection: socket.socket) -> tuple[int, int]:
    """(pid, uid) of the process that connected; OSError when it cannot be told."""
    if sys.platform.startswith("linux"):
        raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CRED.size)
        pid, uid, _ = _CRED.unpack(raw)
        return pid, uid
    # The socket is 0600 in a 0700 folder: who could connect is this user.
    return connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID), os.getuid()
