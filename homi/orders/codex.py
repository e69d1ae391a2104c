"""What may be asked of the daemon about Codex: one struct a verb.

Owns the fields; homi.requests lists them with all others.  homi-protocol(7).
"""

from homi.request import Request


class CodexPeer(Request, frozen=True, tag="codex-peer"):
    """Bind name to a thread of the Codex of a home; without one to none any more."""

    soon = True
    name: str
    thread: str | None = None
    home: str = ""  # its CODEX_HOME
    cwd: str = ""  # the folder of the thread
    program: str = ""  # its command; empty: codex in the daemon's PATH
