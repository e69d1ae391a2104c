"""Options as click knows them, those of the fast path among them.

Owns the translation of homi.cli.fast's table, so that each option is spelled once.
"""

import os
import time
from collections.abc import Callable
from typing import Any

import click

from homi.address import show
from homi.cli.fast import OPTIONS
from homi.cli.submission import NEEDS, RUNGS
from homi.clock import moment, rfc3339
from homi.errors import NoInput, Usage

Command = Callable[..., Any]

SECONDS_MAX = 1_000_000_000  # 31 years: the system takes no timeout of ten times that
DIGITS_MAX = 15  # of a number: a sequence has no more

TIMES = "3h, 2d, a date, or an RFC 3339 time"

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")

no_probe = click.option("--no-probe", is_flag=True, help="Ask no socket.")


def since(command: Command) -> Command:
    """--since T: the stamp from which on, in RFC 3339 as the files have it."""
    text = f"Only what came at T or later: {TIMES}."
    return click.option("--since", type=stamp, metavar="T", help=text)(command)


def before(command: Command) -> Command:
    """--before T: the stamp before which, in RFC 3339 as the files have it."""
    text = f"Only what came before T: {TIMES}."
    return click.option("--before", type=stamp, metavar="T", help=text)(command)


def stamp(text: str) -> str:
    """A time or an age that a person wrote, as RFC 3339 UTC."""
    try:
        return rfc3339(moment(text, time.time()))
    except ValueError:
        raise click.BadParameter(f"{show(text)} is no time: {TIMES}") from None


def misplaced(ctx: click.Context) -> None:
    """Usage (64): an option stands before the verb it belongs behind."""
    path = ctx.command_path.partition(" ")[2]
    raise Usage(
        f"an option stands before {ctx.invoked_subcommand}",
        hint=f"homi {path} {ctx.invoked_subcommand} --help",
    )


def positive(text: str) -> int:
    """text as a number of things to be shown: none would say nothing."""
    if (found := number(text)) == 0:
        raise click.BadParameter("0 would list nothing: 1 at least")
    return found


def number(text: str) -> int:
    """text as a number that counts something."""
    if not (text.isascii() and text.isdecimal() and len(text) <= DIGITS_MAX):
        raise click.BadParameter(f"{show(text)} is no whole number from 0 on")
    return int(text)


def of(verb: str) -> Callable[[Command], Command]:
    """Give a command the options that the table has for verb, in its order."""

    def decorate(command: Command) -> Command:
        for of_verb, flags, field, kind, metavar, text in reversed(OPTIONS):
            if of_verb == verb:
                option = click.option(
                    *flags,
                    field,
                    type=_type(kind),
                    # False would let click take the option without a value.
                    is_flag=kind == "flag" or None,
                    metavar=metavar or None,
                    help=text,
                )
                command = option(command)
        return command

    return decorate


def _type(kind: str) -> Any:  # noqa: ANN401 - all that click checks a value by
    """What click checks a value by."""
    checks = {
        "seconds": _seconds,
        "number": number,
        "rung": click.Choice(RUNGS),
        "needs": click.Choice(NEEDS),
    }
    return None if kind == "flag" else checks.get(kind, click.STRING)


def _seconds(text: str) -> float:
    """text as a span of time that the system takes."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1
    if not 0 <= seconds <= SECONDS_MAX:
        raise click.BadParameter(f"{show(text)} is no time from 0 to {SECONDS_MAX} s")
    return seconds


def folder(given: str | None) -> str:
    """The folder of an option, this one where it is not given, as the daemon can find
    it; 66 for none."""
    where = os.curdir if given is None else given
    if not where:
        raise NoInput("no folder ''")
    try:
        return os.path.abspath(os.path.expanduser(where))
    except OSError:
        raise NoInput(f"no folder {show(where)}: it was removed") from None
