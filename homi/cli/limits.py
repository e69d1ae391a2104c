"""`limits` and `continue`: the bounds of agents' turns.  homi-limits(7).

Owns the rows, which are counted from the file whether a daemon runs or not; to let
agents go on is the daemon's.
"""

import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import click
import msgspec

from homi import paths
from homi.bounds import counted
from homi.budget import Budget
from homi.cli import options, output
from homi.cli.failures import refused
from homi.cli.mail import Mail
from homi.clock import rfc3339
from homi.config import BRANCHED, HOPS_MAX, PAIR_TURNS, TURNS, WAKES
from homi.connection import Connection
from homi.envelope import MessageId
from homi.errors import ambiguous
from homi.ids import is_id, last_part
from homi.render import Cell, cell, short_ids
from homi.reports import Continued
from homi.requests import Continue
from homi.store.disk import RealDisk

COLUMNS = ("KIND", "ABOUT", "WHO", "USED", "LIMIT", "STATE", "LAST")
OPEN, PARKED, FULL = "open", "parked", "full"


class Limit(msgspec.Struct, frozen=True, kw_only=True):
    """One bound, or what is counted against it."""

    kind: str  # bound | chain | pair | wakes
    about: str  # of a bound what it counts, of a chain the id it began with
    who: list[str] = []  # addresses
    used: int | None = None  # None: nothing is counted here
    limit: int
    state: str = OPEN  # open | parked | full
    reason: str = ""  # why it is parked
    at: str = ""  # RFC 3339: when it was counted last


@click.command()
@options.as_json
@click.pass_obj
def limits(home: str, /, *, as_json: bool) -> None:
    """List what bounds agents' turns, and how much of it is used.

    \b
      $ homi limits
      $ homi limits --json | jq 'select(.state == "parked")'
    """
    rows = [*bounds(), *used(counted(paths.state_root(home), RealDisk()), time.time())]
    if as_json:
        output.json_lines(rows)
        return
    chains = [row.about for row in rows if row.kind == "chain"]
    short = short_ids(chains, chains) if output.terminal() else {}
    output.table(COLUMNS, [_cells(row, short) for row in rows])


@click.command("continue")
@click.argument("messages", metavar="CHAIN...", nargs=-1, required=True)
@options.as_json
@click.pass_obj
def continue_(home: str, /, messages: tuple[str, ...], *, as_json: bool) -> int:
    """Let the agents of CHAIN go on; what was parked is released.

    \b
      $ homi limits                # parked chains, by the id they began with
      $ homi continue 7c10

    The id of any message of the chain will do.  Only a person may.
    """
    root, status = paths.state_root(home), 0
    with Connection(root) as client:
        for given in messages:
            asked = Continue(i=1, id=_meant(root, given))
            done = client.call(asked, Continued)
            if as_json:
                output.json_line(done)
            else:
                let = sum(not row.code for row in done.rows)
                text = f"continued {done.chain}: up to {done.limit} turns"
                output.line(f"{text}, {let} released")
            for row in done.rows:
                if row.code:
                    about = f"{cell(row.id)} in {row.name}: {row.error}"
                    status = max(status, refused(row, about, as_json=as_json))
    return status


def bounds() -> Iterator[Limit]:
    """What nobody can change."""
    yield Limit(kind="bound", about="turns of a chain", limit=TURNS)
    yield Limit(kind="bound", about="turns of a chain's branches", limit=BRANCHED)
    yield Limit(kind="bound", about="turns of a pair in a day", limit=PAIR_TURNS)
    yield Limit(kind="bound", about="turns by a sender in an hour", limit=WAKES)
    yield Limit(kind="bound", about="devices on the way", limit=HOPS_MAX)


def used(budget: Budget, now: float) -> Iterator[Limit]:
    """What is counted: chains, the parked first, then pairs, then senders."""
    budget.forget(now)
    chains = sorted(
        budget.chains.items(), key=lambda each: (each[1].parked is None, -each[1].at)
    )
    for began, chain in chains:
        turns = [t for t in budget.turns.values() if t.chain == began]
        yield Limit(
            kind="chain",
            about=began,
            who=sorted({who for turn in turns for who in turn.pair}),
            used=chain.highest,
            limit=chain.limit,
            state=OPEN if chain.parked is None else PARKED,
            reason=chain.parked or "",
            at=rfc3339(chain.at),
        )
    for pair, talk in budget.talks.items():
        count = talk.used(now)
        yield Limit(
            kind="pair",
            about="",
            who=list(pair),
            used=count,
            limit=PAIR_TURNS,
            state=FULL if count >= PAIR_TURNS else OPEN,
            at=rfc3339(talk.times[-1]) if talk.times else "",
        )
    for (sender, name), times in budget.wakes.items():
        yield Limit(
            kind="wakes",
            about="",
            who=[sender, name],
            used=len(times),
            limit=WAKES,
            state=FULL if len(times) >= WAKES else OPEN,
            at=rfc3339(times[-1]),
        )


def _meant(root: Path, given: str) -> MessageId:
    """The id that given is or begins, of a chain or of any message; 64 and 66."""
    wanted = given.lower()
    if is_id(wanted):
        return MessageId(wanted)
    known = counted(root, RealDisk())
    found = sorted(_starting(wanted, known.chains.keys()))
    found = found or sorted(_starting(wanted, known.turns.keys()))
    if len(found) > 1:
        raise ambiguous(wanted, *found)
    return found[0] if found else Mail(root).full_id(given)


def _starting(wanted: str, ids: Iterable[MessageId]) -> Iterator[MessageId]:
    """Those that begin so, or whose last part does."""
    return (
        one
        for one in ids
        if wanted and (one.startswith(wanted) or last_part(one).startswith(wanted))
    )


def _cells(row: Limit, short: dict[str, str]) -> tuple[Cell, ...]:
    """A row as it is listed."""
    state = f"{row.state} ({row.reason})" if row.reason else row.state
    about = short.get(row.about, row.about)
    used = "" if row.used is None else row.used
    counts = row.used is not None
    who, at = " ".join(row.who), output.when(row.at)
    return row.kind, about, who, used, row.limit, state if counts else "", at
