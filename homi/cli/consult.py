"""`consult`: an agent is started, asked one thing, and ended.  homi-spawn(1).

Owns the order of that; that it ends is the daemon's.
"""

import secrets
from typing import TypedDict, Unpack

import click
from msgspec.structs import replace

from homi import paths
from homi.address import BUILT_IN, parse_name, spelled
from homi.cli import options
from homi.cli.fast import post
from homi.cli.spawn import BEFORE, READY, How, asked, client, cwd, seconds
from homi.cli.submission import Plan, read_text, unsigned
from homi.connection import Connection
from homi.dial import Lost
from homi.errors import NoSuchName, NotReached, TimedOut
from homi.reports import Listing
from homi.requests import List
from homi.spawned import SpawnRow

ANSWER = 600.0  # s for it to answer


class Given(TypedDict):
    """Whom to ask, and how."""

    client: str
    cwd: str | None
    timeout: float
    sender: str


@click.command()
@click.argument("text", metavar="[TEXT | -]", required=False)
@click.argument("argv", metavar="[-- ARGV...]", nargs=-1)
@client
@cwd
@click.option(
    "--timeout", type=float, default=ANSWER, metavar="S", help="124 after S s; 600."
)
@click.option("--from", "sender", metavar="NAME", default="", help="Ask as NAME.")
@options.as_json
@click.pass_obj
def consult(
    home: str,
    /,
    text: str | None,
    argv: tuple[str, ...],
    *,
    as_json: bool,
    **given: Unpack[Given],
) -> int:
    """Start an agent, ask it TEXT, print its answer and end it.

    \b
      $ homi consult --cwd ~/src/app 'which tests cover the ring?'
      $ git diff | homi consult - -- --model opus
    """
    root = paths.state_root(home)
    how = How(client=given["client"], cwd=given["cwd"], worktree=False, timeout=READY)
    name = f"consult-{secrets.token_hex(3)}"
    request = replace(asked(name, argv, how), brief=True)
    plan = Plan(home, name, "-" if text is None else text, "ask")
    plan.sender, plan.timeout = given["sender"], seconds(given["timeout"])
    plan.as_json = as_json
    plan.body = read_text(plan)  # before anybody is started for it
    with Connection(root) as daemon:
        _check(daemon, plan.sender)
        # It is ended with this connection, whatever becomes of us.
        try:
            daemon.wait(request, SpawnRow, BEFORE + READY)
            return post(plan)
        except TimedOut:
            raise TimedOut(
                f"no answer within {plan.timeout:g} s: the agent is ended",
                hint="--timeout S gives it more time",
            ) from None
        except (NoSuchName, Lost):
            raise NotReached(
                "the daemon restarted meanwhile: the agent is ended",
                hint="ask once more; nothing is left of this one",
            ) from None
        except NotReached as error:
            if error.reason == "dead":
                raise  # its seat is there, with its last words
            raise NotReached(
                f"{error.text}: it is ended",
                hint="it may ask something: start one by homi spawn NAME, and look",
            ) from None


def _check(daemon: Connection, sender: str) -> None:
    """64 or 67 where nobody could ask, before anybody is started for it."""
    if not sender and not daemon.welcome.name:
        raise unsigned()
    if sender and parse_name(sender) not in (*BUILT_IN, daemon.welcome.name):
        known = daemon.call(List(i=1, name=sender), Listing)
        if not known.names:
            raise NoSuchName(
                f"no name {spelled(sender)} on this device to send as",
                hint="homi claim it first, or name another with --from",
            )
