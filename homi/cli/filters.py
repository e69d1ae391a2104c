"""Options that choose among messages, the same for every listing.

Owns their spelling and the query they make.  homi-inbox(1) has them.
"""

from collections.abc import Callable
from typing import Any

import click
import msgspec

from homi.address import parse_name
from homi.cli import options
from homi.cli.mail import Mail
from homi.envelope import Rung
from homi.store.index import Query

Command = Callable[..., Any]


class Chosen(msgspec.Struct, kw_only=True):
    """What the options say; None where one was not given."""

    sender: str | None = None
    room: str | None = None
    thread: str | None = None
    rungs: tuple[str, ...] = ()
    since: str | None = None  # RFC 3339
    before: str | None = None  # RFC 3339
    after: int | None = None  # seq
    limit: int | None = None
    every: bool = False
    pending: bool = False
    brief: bool = False
    raw: bool = False

    def query(self, mail: Mail, **more: Any) -> Query:  # noqa: ANN401 - Query's fields
        """The query they make; more: what they do not say."""
        name, device = mail.writer(self.sender)
        return Query(
            sender=name,
            device=device,
            room=None if self.room is None else parse_name(self.room),
            thread=self.thread,
            rungs=frozenset(map(Rung, self.rungs)) or None,
            since=self.since,
            before=self.before,
            after=self.after or 0,
            limit=self.limit,
            **more,
        )


def common(command: Command) -> Command:
    """--from, --since, --before, --limit and --brief."""
    for option in (
        click.option("--brief", is_flag=True, help="With the first line of each text."),
        click.option(
            "--limit",
            type=options.positive,
            metavar="N",
            help="The newest N.",
        ),
        options.before,
        options.since,
        click.option("--from", "sender", metavar="ADDR", help="Only mail from ADDR."),
    ):
        command = option(command)
    return command
