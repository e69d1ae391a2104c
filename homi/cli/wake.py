"""`wake`: messages that a schedule or an event sends.  homi-wake(1)."""

import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import click

from homi import ids, paths
from homi.cli import options, output
from homi.cli.meant import Family
from homi.cli.submission import Plan, read_text
from homi.cli.triggers import given_trigger, triggers
from homi.clock import age, parse_rfc3339
from homi.connection import Connection
from homi.dial import Absent
from homi.errors import NotReached, Usage
from homi.ids import last_part
from homi.orders.wakes import WakeAdd, WakeOrder, Wakes
from homi.render import Cell, short_ids
from homi.wakes import preview as ahead
from homi.wakes.state import meant
from homi.wakes.words import local_zone, moment, seconds
from homi.woken import WakeDone, WakeRow, WakeRows

COLUMNS = ("NEXT", "LEFT", "LAST", "PASSED", "NAME", "TRIGGER", "STATE", "ID")
SHOWN = ("NEXT", "LEFT", "LAST", "NAME", "TRIGGER", "STATE", "ID")
FIRES = ("AT", "LEFT", "CLOCK", "NOTE")
# The first look at files or at a repository may take as long as gh does.
PATIENCE = 90.0


@click.group(cls=Family, invoke_without_command=True, subcommand_metavar="[VERB ...]")
@options.as_json
@click.pass_context
def wake(ctx: click.Context, /, *, as_json: bool) -> None:
    """Send a message on a schedule, or when something happens.

    \b
      $ homi wake add ada --cron '0 9 * * 1-5' 'look at the nightly build'
      $ homi wake add ada --on-file '/srv/in/*.csv' 'a new file came'
      $ homi wake preview --cron '30 2 * * *' --tz Europe/Berlin
      $ homi wake ls
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(ls, as_json=as_json)
    elif as_json:
        options.misplaced(ctx)


@wake.command()
@click.argument("to", metavar="NAME")
@click.argument("text", metavar="[TEXT | -]", required=False)
@triggers
@click.option("--on-file", metavar="GLOB", help="When a file comes or changes.")
@click.option("--on-pr", metavar="OWNER/REPO", help="When a pull request does, by gh.")
@click.option("--on-exit", metavar="SEAT", help="Once the program of a seat ended.")
@click.option("--text", "words", metavar="TEXT", help="The text.")
@click.option("-f", "--file", metavar="FILE", help="Read the text from FILE.")
@click.option("--from", "sender", metavar="NAME", help="Send as NAME.")
@click.option(
    "--missed",
    type=click.Choice(("once", "skip", "all")),
    default="once",
    help="What is sent for times that passed while nothing ran.",
)
@click.option(
    "--overlap",
    type=click.Choice(("skip", "queue")),
    default="skip",
    help="What is done while the last one is unread.",
)
@click.option("--jitter", metavar="SPAN", default="0", help="Be late by up to SPAN.")
@click.option("--until", metavar="TIME", default="", help="End behind TIME.")
@click.option(
    "--max", "most", type=click.IntRange(1), metavar="N", help="End after so many."
)
@click.option("--spawn", is_flag=True, help="Start a session where none lives.")
@options.as_json
@click.pass_obj
def add(
    home: str,
    /,
    to: str,
    text: str | None,
    *,
    as_json: bool,
    **given: Any,  # noqa: ANN401
) -> None:
    """Send TEXT to NAME whenever a trigger says so.

    \b
      $ homi wake add ada --every 30m 'anything new in the queue?'
      $ homi wake add ada --at 09:30 --spawn 'prepare the standup'
      $ homi wake add ada --on-pr cli/cli -f review.txt
      $ homi wake add ada --on-exit build 'the build ended'
    """
    now, zone = time.time(), _zone(given)
    trigger = given_trigger(given, zone, now)
    until = given["until"] and moment(given["until"], zone, now)
    asked = WakeAdd(
        i=1,
        to=to,
        text=_text(home, text, given),
        kind=trigger.kind,
        value=trigger.value,
        zone=trigger.zone,
        from_=given["sender"],
        missed=given["missed"],
        overlap=given["overlap"],
        jitter=seconds(given["jitter"]),
        until=until,
        most=given["most"] or 0,
        spawn=given["spawn"],
    )
    with Connection(paths.state_root(home)) as client:
        done = client.wait(asked, WakeDone, PATIENCE)
    if as_json:
        output.json_line(done)
        return
    row = done.wake
    output.line(f"added {last_part(row.id)} for {row.to}{_ahead(row)}")
    _trouble(row)


def _order(verb: str, help_: str) -> Callable[..., Any]:
    """The command that has something done with one wake."""

    @click.argument("which", metavar="WAKE")
    @options.as_json
    @click.pass_obj
    def order(home: str, /, which: str, *, as_json: bool) -> None:
        key = ids.new() if verb == "run" else ""
        asked = WakeOrder(i=1, do=verb, wake=which, key=key)  # type: ignore[arg-type]
        with Connection(paths.state_root(home)) as client:
            done = client.wait(asked, WakeDone, PATIENCE)
        if verb == "run" and done.wake.failure:
            text = f"wake {last_part(done.wake.id)} was not fired: {done.wake.failure}"
            raise NotReached(text, hint=done.wake.fix)
        if as_json:
            output.json_line(done)
            return
        past = {"rm": "removed", "run": "fired"}.get(verb, f"{verb.rstrip('e')}ed")
        row = done.wake
        when = _ahead(row) if verb == "resume" else ""
        output.line(f"{past} {last_part(row.id)} for {row.to}{when}")
        if verb != "rm":
            _trouble(row)

    order.__doc__ = help_
    return wake.command(verb)(order)


rm = _order("rm", "Forget WAKE.\n\n\b\n  $ homi wake rm 3f2a")
pause = _order("pause", "Let WAKE rest.\n\n\b\n  $ homi wake pause ada")
resume = _order("resume", "Let WAKE go on.\n\n\b\n  $ homi wake resume ada")
run = _order("run", "Fire WAKE now, once.\n\n\b\n  $ homi wake run 3f2a")


@wake.command()
@click.argument("which", metavar="[WAKE]", required=False)
@options.as_json
@click.pass_obj
def ls(home: str, /, which: str | None = None, *, as_json: bool = False) -> None:
    """List the wakes, the next one first.

    \b
      $ homi wake ls
      $ homi wake ls ada --json
    """
    root = paths.state_root(home)
    try:
        with Connection(root) as client:
            rows = client.call(Wakes(i=1, which=which), WakeRows).wakes
    except Absent:
        found = ahead.wakes(os.fspath(root))
        if which is not None:
            named = [one for one in found if one.to == which.lower()]
            found = named or [meant(found, which)]
        rows = ahead.rows(os.fspath(root), found)
        output.note("no daemon runs: nothing fires (homi start)")
    rows.sort(key=lambda row: (not row.next, row.next))
    if as_json:
        output.json_lines(rows)
        return
    person = output.terminal()
    output.table(
        SHOWN if person else COLUMNS,
        list(_shown(rows, whole=which is not None) if person else _cells(rows)),
        empty="no wake here (homi wake add)",
    )
    for row in rows:
        _trouble(row)


@wake.command()
@click.argument("which", metavar="[WAKE]", required=False)
@triggers
@click.option(
    "-n", "--count", type=options.positive, metavar="N", default="10", help="So many."
)
@options.as_json
@click.pass_obj
def preview(
    home: str,
    /,
    which: str | None,
    *,
    count: int,
    as_json: bool,
    **given: Any,  # noqa: ANN401
) -> None:
    """Show when WAKE, or a trigger that is not made yet, will fire.

    \b
      $ homi wake preview ada
      $ homi wake preview --cron '30 2 * * *' --tz Europe/Berlin -n 400
    """
    zone = given["zone"] or local_zone(os.environ)
    found = at = None
    if which is not None:
        if any(given[key] for key in ("cron", "every", "at")):
            raise Usage("both a wake and a trigger", hint="homi wake preview --help")
        root = os.fspath(paths.state_root(home))
        found = meant(ahead.wakes(root), which)
        at = ahead.standing(root, found)
    trigger = found.trigger if found else given_trigger(given, zone, time.time())
    zone = given["zone"] or trigger.zone or zone
    fires = ahead.fires(trigger, zone, min(count, 1_000), found, at)
    if as_json:
        output.json_lines(fires)
        return
    rows = [(fire.at, _left(fire.at), fire.here, fire.note) for fire in fires]
    output.table(FIRES, rows, empty="it never fires")


def _zone(given: dict[str, Any]) -> str:
    """The zone in which times are meant; none is looked for where there is no time."""
    times = [given[key] or "+" for key in ("cron", "at", "until")]
    if all(each.startswith("+") for each in times):
        return given["zone"] or "UTC"
    return given["zone"] or local_zone(os.environ)


def _text(home: str, text: str | None, given: dict[str, Any]) -> str:
    """The text, from where it was said to be."""
    if sum(each is not None for each in (text, given["words"], given["file"])) > 1:
        raise Usage("more than one text", hint="homi wake add --help")
    if given["words"] is not None:
        return str(given["words"])
    plan = Plan(home, "", text)
    plan.file = given["file"] or ""
    return read_text(plan)


def _cells(rows: list[WakeRow]) -> Iterator[tuple[Cell, ...]]:
    """A line each, for a program."""
    now = time.time()
    for row in rows:
        passed = int(max(now - parse_rfc3339(row.last), 0.0)) if row.last else ""
        yield (
            *(row.next, _left(row.next), row.last, passed),
            *(row.to, row.trigger, row.state, last_part(row.id)),
        )


def _shown(rows: list[WakeRow], *, whole: bool) -> Iterator[tuple[Cell, ...]]:
    """A line each, for a person; whole: with ids that are unique among others, too."""
    every = [row.id for row in rows]
    known = {one: last_part(one) for one in every} if whole else short_ids(every, every)
    for row in rows:
        yield (
            *(_clock(row.next), _left(row.next), output.when(row.last)),
            *(row.to, row.trigger, row.state, known[row.id]),
        )


def _ahead(row: WakeRow) -> str:
    """When it will fire, where that is known."""
    when = _clock(row.next) if output.terminal() else row.next
    return f", next {when}" if when else ""


def _clock(at: str) -> str:
    """A moment as a clock here shows it: of today the time alone."""
    if not at:
        return at
    there = time.localtime(parse_rfc3339(at))
    today = there[:3] == time.localtime()[:3]
    return time.strftime("%H:%M:%S" if today else "%Y-%m-%d %H:%M", there)


def _left(at: str) -> Cell:
    """How long it is until then: none where it is over, while no daemon runs; in whole
    seconds for a program."""
    if not at:
        return ""
    left = max(parse_rfc3339(at) - time.time(), 0.0)
    return age(left) if output.terminal() else int(left)


def _trouble(row: WakeRow) -> None:
    """What is wrong with one, and what helps."""
    if row.failure:
        output.note(f"{last_part(row.id)}: {row.failure}")
        if row.fix:
            output.note(f"hint: {row.fix}")
