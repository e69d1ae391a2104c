"""`completion`: what a shell needs to complete commands, names and ids.  homi(1).

Owns what is offered for an argument; click owns the scripts and reads the line.
A shell that completes must never see an error: what cannot be told is not offered.
"""

import contextlib
import os
import time
from collections.abc import Iterator
from itertools import islice

import click
from click.shell_completion import CompletionItem, ShellComplete, get_completion_class

from homi import paths
from homi.address import Name
from homi.cli import output
from homi.cli.main import COMPLETE
from homi.envelope import Rung
from homi.errors import HomiError, Usage
from homi.ids import is_id, last_part
from homi.mail import Mail, neighbours
from homi.store.index import Index, Query
from homi.store.refusals import entries

SHELLS = ("bash", "zsh", "fish")
PATIENCE = 0.1  # s for mail that is not indexed yet
OFFERED = 200  # ids: nobody reads a longer list
NAMES = frozenset({"address", "name", "names", "sender", "to"})
DEVICES = frozenset({"device", "devices", "via"})
ENTRIES = frozenset({"entry", "entry_ids"})  # of the quarantine
IDS = frozenset({"message", "messages", "reply_to"})
RUNGS = frozenset({"rung", "rungs"})
COMPLETED = NAMES | DEVICES | ENTRIES | IDS | RUNGS


@click.command()
@click.argument("shell", metavar="SHELL", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print what makes SHELL complete commands, names and ids.

    \b
      $ eval "$(homi completion bash)"      # in ~/.bashrc
      $ eval "$(homi completion zsh)"       # in ~/.zshrc
      $ homi completion fish | source       # in config.fish
    """
    kind = _kind(shell)
    made = kind(click.Group("homi"), {}, "homi", COMPLETE)
    output.line((kind.source_template % made.source_vars()).strip())


def answer(group: click.Group, asked: str) -> int:
    """Print what a shell asks for by the variable; 0 whatever happens."""
    shell = asked.removesuffix("_complete")
    if shell not in SHELLS or shell == asked:
        return 0
    # Whatever goes wrong from here on would be written over the line being typed.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    try:
        if text := _kind(shell)(group, {}, "homi", COMPLETE).complete():
            output.line(text)
    except (HomiError, click.ClickException, OSError, ValueError, LookupError):
        return 0
    return 0


def arm(command: click.Command) -> click.Command:
    """The command, with live names and ids for those of its arguments that take one;
    all others keep what click offers for them."""
    for param in command.params:
        if param.type is click.STRING and param.name in COMPLETED:
            param.type = _Live()
    for one in command.commands.values() if isinstance(command, click.Group) else ():
        arm(one)
    return command


class _Live(click.types.StringParamType):
    """A text that is completed by what there is now."""

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """What begins so, as far as the files tell it."""
        start = incomplete.lower()
        if param.name in RUNGS:
            return [CompletionItem(one.value) for one in Rung if one.startswith(start)]
        home = ctx.find_root().params.get("home") or ""
        mail = Mail(paths.state_root(str(home)), lambda _damaged: None)
        if param.name in DEVICES:
            known = neighbours.devices(mail.root)
            return [CompletionItem(one) for one in known if one.startswith(start)]
        if param.name in NAMES:
            names = [*mail.listed(), *mail.shown().aliases]
            if "@" in start or not any(one.startswith(start) for one in names):
                names += map(Name, neighbours.addresses(mail.root))
            return [CompletionItem(one) for one in names if one.startswith(start)]
        if param.name in ENTRIES:
            kept = (one.entry for one in entries(str(mail.root)))
            found = (one for one in kept if one.id.startswith(start))
            return [CompletionItem(o.id, help=o.reason) for o in islice(found, OFFERED)]
        with Index.open(mail.root) as index:
            return list(islice(_ids(index, start), OFFERED))


class _Enough(HomiError):
    """The index is behind by more than can be read while a person waits."""


def _ids(index: Index, start: str) -> Iterator[CompletionItem]:
    """Pending messages, the newest first: each by its id, or by the last part of it
    where that is what begins so."""
    end = time.monotonic() + PATIENCE

    def told(_done: int, _total: int) -> None:
        if time.monotonic() > end:
            raise _Enough("later")

    with contextlib.suppress(_Enough):  # what was read stays: the next time knows more
        index.catch_up(told=told)
    query = Query(pending=True, newest=True, limit=None if start else OFFERED)
    for entry in index.search(query):
        if not is_id(entry.id):
            continue  # a shell would run what an odd line of a journal says
        tail = last_part(entry.id)
        for text in (entry.id, tail):
            if text.startswith(start):
                yield CompletionItem(text, help=f"{entry.from_} to {entry.name}")
                break


def _kind(shell: str) -> type[ShellComplete]:
    """What click knows of that shell."""
    kind = get_completion_class(shell)
    if kind is None:
        raise Usage(f"no completion for {shell}")
    return kind
