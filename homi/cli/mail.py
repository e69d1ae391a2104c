"""The mail of a state root for a command: what is damaged is told on stderr.

Owns nothing else; homi.mail reads.  homi-mailbox(5) has the files.
"""

from pathlib import Path

from homi.address import Name
from homi.cli.caller import own
from homi.cli.output import note
from homi.cli.progress import Progress
from homi.mail import ShownMail


class Mail(ShownMail):
    """The mailboxes under one state root, and what is in them."""

    def __init__(self, root: Path) -> None:
        """Nothing is read yet.  A root others can reach is refused (78)."""
        super().__init__(root, note, Progress("reading mail into the index,"))

    def place(self, text: str) -> Name:
        """As of every mail; self is the caller's own name."""
        return super().place(own(self.root, text))

    def recipient(self, text: str) -> str:
        """As of every mail; self is the caller's own name."""
        return super().recipient(own(self.root, text))
