"""`queue`: the pending mail of the device, with what it waits for.  homi-queue(1).

Owns the listing and how a name is told from a verb; what is ordered for mail is in
homi.cli.orders.
"""

from collections.abc import Iterator
from itertools import chain, takewhile

import click

from homi import paths
from homi.address import Name
from homi.behind import aside
from homi.cli import options, orders
from homi.cli.caller import connect
from homi.cli.mail import Mail
from homi.cli.rows import explained, leaving, pending, show_rows, spooled
from homi.cli.shape import show_shape
from homi.errors import Usage
from homi.mail import Message, listed
from homi.store.index import Query
from homi.store.places import device_of


class Queue(click.Group):
    """A verb that lists by itself; the word behind it is another verb or a name."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Make an option of a name, wherever it stands; behind -- all are names."""
        return super().parse_args(ctx, list(self._named(list(args))))

    def _named(self, args: list[str]) -> Iterator[str]:
        """args up to a verb as they are, with --name before the operand."""
        given = 0
        words = takewhile(lambda word: word != "--", list(args))
        early = next((word for word in words if word in self.commands), "")
        while args:
            word = args.pop(0)
            if word == "--name" and args:
                yield from (word, args.pop(0))
                given += 1
            elif word == "--":
                yield from (f"--name={name}" for name in args)
                given += len(args)
                args = []
            elif word.startswith("-") and word != "-":
                yield word
                given += word.startswith("--name=")
            elif word in self.commands and not given:
                yield from (word, *args)
                return
            else:
                yield f"--name={word}"
                given += 1
        if given > 1 and early:
            raise Usage(
                f"{early} stands right behind queue, all else behind it",
                hint=f"homi queue {early} --help",
            )
        if given > 1:
            raise Usage(
                "the queue of one name at a time", hint="homi queue lists all of them"
            )


@click.group(cls=Queue, invoke_without_command=True, subcommand_metavar="[VERB ...]")
@click.option("--name", metavar="NAME", help="Only the mail of NAME.")
@click.option("--shape", is_flag=True, help="Count it by name and age.")
@options.as_json
@click.pass_context
def queue(
    ctx: click.Context, /, name: str | None, *, shape: bool, as_json: bool
) -> None:
    """List pending mail with what it waits for, or decide about it.

    \b
      $ homi queue
      $ homi queue --shape
      $ homi queue @mini           # all that waits to go to the device mini
      $ homi queue hold 7c10       # it goes out to nobody until it is released
      $ homi queue -- hold         # the mail of a name like a verb
    """
    if ctx.invoked_subcommand is not None:
        if name is not None or shape or as_json:
            options.misplaced(ctx)
        return
    mail = Mail(paths.state_root(ctx.obj))
    _, client = connect(mail.root)
    place = None if name is None else mail.place(name)
    if shape:
        places = None if place is None else [place]
        show_shape(mail.index(places).stamps(place), as_json=as_json)
        return
    rows = chain(
        explained(_waiting(mail, place), client, place),
        spooled(mail, place),
    )
    about = "on this device" if place is None else f"for {place}"
    show_rows(mail, rows, as_json=as_json, named=True, empty=f"no pending mail {about}")


def _waiting(mail: Mail, place: Name | None) -> Iterator[Message]:
    """What is pending in a place, all of it, or on the whole device."""
    if place is None:
        yield from pending(mail, mail.mailboxes())
        yield from leaving(mail, mail.queues())
    else:
        mail.index([place])
        yield from map(listed, mail.entries(Query(names=(place,), pending=True)))
        if device_of(place) is None:
            yield from _newer(mail, place)


def _newer(mail: Mail, name: Name) -> Iterator[Message]:
    """What waits for older mail of the name, which comes from another device."""
    _, place, to = aside(name, mail.device)
    if place in mail.queues():
        entries = mail.entries(Query(names=(place,), pending=True))
        yield from (listed(entry) for entry in entries if entry.dest == to)


for _verb in orders.verbs():
    queue.add_command(_verb)
