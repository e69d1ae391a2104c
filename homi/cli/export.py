"""`export`: a mailbox as one file, or as a Maildir.  homi-queue(1).

Owns what is told of it; homi.mail has the forms.
"""

from collections.abc import Iterator
from pathlib import Path

import click

from homi import paths
from homi.address import Name
from homi.amount import amount
from homi.cli import file, options, output
from homi.cli.mail import Mail
from homi.cli.progress import Progress
from homi.errors import StorageFailed, Usage
from homi.mail import mbox, past
from homi.mail.past import Exported
from homi.store.index import Query

FORMATS = ("jsonl", "mbox", "maildir")


@click.command()
@click.argument("name")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="jsonl",
    help="jsonl (the default), mbox or maildir.",
)
@click.option("-o", "--output", "to", metavar="PATH", help="Into a new file or folder.")
@options.since
@click.pass_obj
def export(
    home: str, /, name: str, form: str, to: str | None, since: str | None
) -> int:
    """Write out all mail of NAME, finished or not.

    \b
      $ homi export gds-agent > gds-agent.jsonl
      $ homi export gds-agent --format mbox -o gds-agent.mbox
      $ homi export gds-agent --format maildir -o Mail/gds-agent
    """
    mail = Mail(paths.state_root(home))
    found = _Export(mail, mail.place(name), since)
    path = None if to in (None, "-") else Path(to or "")
    if form == "maildir":
        if path is None:
            raise Usage("a Maildir is a folder", hint="-o PATH names a new one")
        mbox.make_maildir(path, found)
    else:
        one = past.line if form == "jsonl" else mbox.entry
        file.write(path, map(one, found))
    if path is not None:
        output.note(f"{amount(found.count, 'message')} in {path}")
    return StorageFailed.exit_status if found.lost else 0


class _Export:
    """The messages of a mailbox one after the other; what is unreadable is noted."""

    def __init__(self, mail: Mail, place: Name, since: str | None) -> None:
        self._mail = mail
        self._query = Query(names=(place,), since=since)
        self._place = place
        self.count = 0  # written out
        self.lost = 0

    def __iter__(self) -> Iterator[Exported]:
        """Each in order of arrival."""
        progress = Progress("writing,")
        counts = self._mail.index([self._place]).counts()
        total = counts.get(self._place, (0, 0))[0]
        for done, entry in enumerate(self._mail.entries(self._query)):
            progress(done, max(total, done + 1))
            try:
                letter = self._mail.letter(entry)
            except StorageFailed as error:
                self.lost += 1
                output.note(error.text)
            else:
                self.count += 1
                yield past.exported(entry, letter.envelope)
        progress(total, total)
