"""The mail of a state root for a command: what is damaged is told on stderr.

Owns nothing else; homi.mail reads.  homi-mailbox(5) has the files.
"""

from pathlib import Path

from homi import mail
from homi.cli.output import note
from homi.cli.progress import Progress


class Mail(mail.Mail):
    """The mailboxes under one state root, and what is in them."""

    def __init__(self, root: Path) -> None:
        """Nothing is read yet.  A root others can reach is refused (78)."""
        super().__init__(root, note, Progress("reading mail into the index,"))
