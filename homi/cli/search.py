"""`search`: the messages in which words stand, over all mailboxes.  homi-inbox(1).

Changes nothing; shows text only where a person asked for it.
"""

from itertools import chain
from typing import Any

import click

from homi import paths
from homi.address import Name, parse_name, show
from homi.cli import filters, options, output
from homi.cli.caller import connect
from homi.cli.filters import Chosen
from homi.cli.mail import Mail
from homi.cli.rows import explained, show_rows
from homi.envelope import SHOWN, Rung
from homi.errors import Usage
from homi.mail import Message, listed, spooled_message
from homi.store.index import Query
from homi.store.words import among

FOUND = 100  # rows unless --limit says otherwise: a common word is in every message
JOINTS = frozenset({"AND", "OR", "NOT", "(", ")"})
# A step that is shown as another rung is found by that one.
RUNGS = click.Choice([str(rung) for rung in Rung if rung not in {Rung.SPOOLED, *SHOWN}])


@click.command()
@click.argument("words", nargs=-1)
@click.option("--name", metavar="NAME", help="Only in the mailbox of NAME.")
@click.option("--room", metavar="ROOM", help="Only mail that was sent to ROOM.")
@click.option("--thread", metavar="THREAD", help="Only mail of that thread.")
@click.option(
    "--rung",
    "rungs",
    type=RUNGS,
    multiple=True,
    metavar="RUNG",
    help="Only mail that is so far.",
)
@filters.common
@options.as_json
@click.pass_obj
def search(
    home: str,
    /,
    words: tuple[str, ...],
    name: str | None,
    *,
    as_json: bool,
    **chosen: Any,  # noqa: ANN401 - each is what its option is
) -> None:
    """Find the messages in whose text all WORDS stand.

    \b
      $ homi search nightly build
      $ homi search 'nightly build' --from ci --since 2d    # that phrase
      $ homi search --rung parked --brief
    """
    wanted = Chosen(**chosen)
    if not words and not any(chosen.values()) and name is None:
        raise Usage("search needs words or an option", hint="homi search --help")
    for word in words:
        if word not in JOINTS and not any(map(str.isalnum, word)):
            output.note(f"{show(word)} has no letter or digit: it finds no message")
    mail = Mail(paths.state_root(home))
    _, client = connect(mail.root)
    place = None if name is None else (mail.place(name),)
    if place is None and wanted.room is not None:
        room = parse_name(wanted.room)
        # What came to a room here stands in its mailbox, each member has a copy.
        place = (room,) if mail.shown().room(room) else None
    cut = wanted.limit is None
    if cut:
        wanted.limit = FOUND + 1
    found = list(mail.latest(wanted.query(mail, names=place, text=asked(words))))
    waits = _waiting(mail, wanted, place, asked(words))
    if cut := cut and len(found) + len(waits) > FOUND:
        wanted.limit = FOUND
    if wanted.limit is not None:
        waits = waits[-wanted.limit :]
        found = found[max(0, len(found) + len(waits) - wanted.limit) :]
    rows = (listed(one, brief=mail.brief(one, wanted.brief)) for one in found)
    known = chain(explained(rows, client), waits)
    show_rows(
        mail,
        known,
        as_json=as_json,
        named=True,
        brief=wanted.brief,
        empty="no such mail on this device",
    )
    if cut:
        output.note(f"the newest {FOUND} of more; --limit N lists more")


def _waiting(
    mail: Mail, wanted: Chosen, place: tuple[Name, ...] | None, text: str | None
) -> list[Message]:
    """What of that waits in pickup/ for a daemon, oldest first."""
    if wanted.rungs:
        return []
    query = wanted.query(mail, names=place)
    found = [
        (spooled_message(one, msg, brief=wanted.brief), msg.text)
        for one, msg in mail.spooled()
    ]
    found = [(row, text_) for row, text_ in found if _is_of(row, query)]
    if text is None:
        return [row for row, _ in found]
    hits = among([text_ for _, text_ in found], text)
    return [row for at, (row, _) in enumerate(found) if at in hits]


def _is_of(row: Message, query: Query) -> bool:
    """Whether a message is what the options of a search say."""
    to = row.to.partition("@")[0].lower()
    return (
        (query.names is None or to in query.names)
        and query.sender in (None, row.from_)
        and not query.device
        and query.room in (None, to)
        and query.thread in (None, row.thread)
        and (query.since is None or row.at >= query.since)
        and (query.before is None or row.at < query.before)
    )


def asked(words: tuple[str, ...]) -> str | None:
    """The words in the form of a search: each argument is a word, or a phrase where
    it is more than one; AND, OR, NOT and parentheses are arguments of their own."""
    parts = [word if word in JOINTS else _quoted(word) for word in words]
    return " ".join(parts) if parts else None


def _quoted(word: str) -> str:
    """A word or phrase, whatever is in it; a * at its end stays what it means."""
    stem = word.rstrip("*")
    star = "*" if stem and stem != word else ""
    bare = stem.removeprefix('"').removesuffix('"') or stem
    return '"' + bare.replace('"', '""') + '"' + star
