"""`read` and `ack`: a message's text, and the record that it was seen.  homi-inbox(1).

Owns the order that makes the record true: the text is out before it is made.
"""

import click

from homi import paths, render
from homi.address import OWNER, Name
from homi.cli import options, output
from homi.cli.caller import connect
from homi.cli.mail import Mail
from homi.connection import Connection
from homi.dial import Absent
from homi.errors import HomiError, NoInput, NotAllowed
from homi.mail import Letter, Self
from homi.reports import Acked
from homi.requests import Ack, CallerClass


@click.command()
@click.argument("message", metavar="ID")
@click.option("--name", metavar="NAME", help="Read in the mailbox of NAME.")
@options.as_json
@click.pass_obj
def read(home: str, /, message: str, name: str | None, *, as_json: bool) -> None:
    """Print the text of the message ID; its owner has then seen it.

    \b
      $ homi read 7c10
      $ homi read --name gds-agent 7c10    # in that mailbox and no other
    """
    mail = Mail(paths.state_root(home))
    me, client = connect(mail.root)
    if name is not None:
        found = mail.find(message, [mail.place(name)])
    else:
        found = mail.need(message, me.need("read", "--name NAME ID"))
    if not found:
        raise NoInput(f"no message {message} in the mailbox of {name}")
    letter = mail.letter(found[0])
    _print(letter, as_json=as_json)
    if found[0].pending and _mine(me, letter.place):
        _record(client, letter)


@click.command()
@click.argument("messages", metavar="ID...", nargs=-1, required=True)
@click.option("--name", metavar="NAME", help="They are in the mailbox of NAME.")
@options.as_json
@click.pass_obj
def ack(
    home: str, /, messages: tuple[str, ...], name: str | None, *, as_json: bool
) -> None:
    """Record the messages ID as seen, without printing them.

    \b
      $ homi ack 7c10 e2b4
    """
    mail = Mail(paths.state_root(home))
    me, client = connect(mail.root)
    if client is None:
        raise Absent("no daemon runs to record it", hint="homi start")
    own = mail.place(name) if name is not None else me.need("ack", "--name NAME ID")
    by_place: dict[Name, list[str]] = {}
    for message in messages:
        found = mail.find(message, [own]) if name is not None else []
        entry = (found or mail.need(message, own))[0]
        by_place.setdefault(entry.name, []).append(entry.id)
    for place, ids in by_place.items():
        done = client.call(Ack(i=1, ids=ids, name=place), Acked)
        if as_json:
            output.json_line(done)
        else:
            output.line("\n".join(f"seen {one} in {done.name}" for one in done.ids))


def _print(letter: Letter, *, as_json: bool) -> None:
    """The text: escaped for a terminal, the very bytes for a program."""
    if as_json:
        output.json_line(
            {
                "name": letter.place,
                "seq": letter.envelope.seq,
                "at": letter.envelope.at,
                "via": letter.envelope.via,
                "msg": letter.msg,
            }
        )
    elif output.terminal():
        output.raw(render.body(letter.msg.text).encode())
    else:
        output.raw(letter.msg.text.encode())


def _mine(me: Self, place: Name) -> bool:
    """Whether reading in place may make a record: never by a person for an agent.

    Which names a session has is the daemon's to say; it refuses the others.
    """
    if me.caller is CallerClass.PERSON:
        return place == OWNER
    return me.caller is CallerClass.SESSION


def _record(client: Connection | None, letter: Letter) -> None:
    """Have it recorded that the text was printed; say so where it was not."""
    if client is None:
        output.note("no daemon runs: it is not recorded that you read this")
        return
    ids, place = [str(letter.msg.id)], letter.place
    try:
        client.call(Ack(i=1, ids=ids, name=place, proof="read"), Acked)
    except NotAllowed:
        return
    except HomiError as error:
        output.note(f"it is not recorded that you read this: {error.text}")
