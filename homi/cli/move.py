"""`move`: a name to another device, or from there to here.  homi-move(1)."""

import os

import click
from msgspec import structs

from homi import paths
from homi.cli import options, output
from homi.connection import Connection
from homi.errors import NotReached, Usage
from homi.moved import MoveDone, MovePlan
from homi.requests import Move


@click.command()
@click.argument("name", metavar="NAME")
@click.argument("device", metavar="[DEVICE]", required=False)
@click.option("--as", "to", metavar="NEW", help="What it is called there.")
@click.option("--fork", is_flag=True, help="A copy of its conversation; it stays.")
@click.option("--cwd", metavar="DIR", help="Its folder there.")
@click.option("--session", metavar="ID", help="Whose conversation goes along.")
@click.option("--spawn", is_flag=True, help="Start an agent for it there.")
@click.option("--dirty", is_flag=True, help="Leave behind what is in no commit.")
@click.option("--dry-run", is_flag=True, help="Show the plan, change nothing.")
@click.option("--abort", is_flag=True, help="End a move that is under way.")
@click.option("--force", is_flag=True, help="With --abort: without the other device.")
@options.as_json
@click.pass_obj
def move(home: str, /, name: str, *, as_json: bool, **asked: bool | str | None) -> int:
    """Move NAME to DEVICE; NAME@DEVICE comes here.

    \b
      $ homi move gds-agent mini --dry-run
      $ homi move gds-agent mini
      $ homi move gds-agent@mini
      $ homi move gds-agent --abort
    """
    request = _request(name, asked)
    with Connection(paths.state_root(home)) as client:
        if not (request.abort or request.dry_run or as_json):
            first = structs.replace(request, dry_run=True)
            planned = client.wait(first, MoveDone, None)
            if planned.plan is not None:
                _show(planned.plan)
        done = client.wait(request, MoveDone, None)
    if as_json:
        output.json_line(done)
    elif done.done == "planned" and done.plan is not None:
        _show(done.plan)
    else:
        output.line(_told(done))
        for note in done.notes:
            output.note(note)
    lacks = done.done == "moved" and done.history_there < done.history
    return NotReached.exit_status if lacks else 0


def _request(name: str, asked: dict[str, bool | str | None]) -> Move:
    """What is asked; 64 where options do not go together."""
    if asked["force"] and not asked["abort"]:
        raise Usage("--force goes with --abort")
    if asked["abort"] and (asked["device"] or asked["to"] or asked["fork"]):
        raise Usage("--abort takes the name alone", hint=f"homi move {name} --abort")
    if asked["fork"] and not asked["to"]:
        raise Usage("a copy has a name of its own there: --as NEW")
    if asked["session"] == "":
        raise Usage("'' is no session", hint="leave --session out: it is the last one")
    cwd = asked["cwd"]
    if isinstance(cwd, str) and "@" in name:
        asked["cwd"] = os.path.abspath(os.path.expanduser(cwd))
    elif isinstance(cwd, str) and not cwd.startswith(("/", "~")):
        raise Usage("--cwd is a folder there: it begins with / or ~")
    return Move(i=1, name=name, **asked)  # type: ignore[arg-type] # as click checked


def _show(plan: MovePlan) -> None:
    """The plan, a fact a line."""
    there = f"{plan.to}@{plan.device}"
    verb = "copy" if plan.fork else "move"
    output.line(f"{verb} {plan.name} from {plan.here} to {there}")
    if plan.cwd or plan.cwd_there:
        at = f" at {plan.commit[:12]}" if plan.commit else ""
        branch = f" ({plan.branch})" if plan.branch else ""
        output.line(f"  folder        {plan.cwd}{at}{branch} -> {plan.cwd_there}")
    output.line(f"  conversation  {plan.conversation or 'none'}")
    if not plan.fork:
        output.line(f"  mail          {plan.history} finished, {plan.pending} pending")
    for note in plan.notes:
        output.note(note)


def _told(done: MoveDone) -> str:
    """What came of it."""
    there = f"{done.to}@{done.device}"
    if done.done == "moving":
        return f"{done.name} is on its way to {there}"
    if done.done == "aborted":
        return f"{done.name} stays here"
    if done.done == "forked":
        return f"{there} has a copy of {done.name}'s conversation"
    words = f"{done.name} is {there} now: {done.history_there} of {done.history}"
    words += f" finished messages there, {done.forwarded} forwarded"
    waits = f", {done.waiting} waiting for {done.device}" if done.waiting else ""
    return words + waits
