"""`search`: the messages in which words stand, over all mailboxes.  homi-inbox(1).

Changes nothing; shows text only where a person asked for it.
"""

from typing import Any

import click

from homi import paths
from homi.cli import filters, options, output
from homi.cli.filters import Chosen
from homi.cli.mail import Mail
from homi.cli.rows import show_rows
from homi.envelope import SHOWN, Rung
from homi.errors import Usage
from homi.mail import listed

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
    mail = Mail(paths.state_root(home))
    place = None if name is None else (mail.place(name),)
    cut = wanted.limit is None
    if cut:
        wanted.limit = FOUND + 1
    found = list(mail.latest(wanted.query(mail, names=place, text=asked(words))))
    if cut := cut and len(found) > FOUND:
        del found[0]
    rows = (listed(one, brief=mail.brief(one, wanted.brief)) for one in found)
    show_rows(
        mail,
        rows,
        as_json=as_json,
        named=True,
        brief=wanted.brief,
        empty="no such mail on this device",
    )
    if cut:
        output.note(f"the newest {FOUND} of more; --limit N lists more")


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
