"""Options as click knows them, those of the fast path among them.

Owns the translation of homi.cli.fast's table, so that each option is spelled once.
"""

from collections.abc import Callable
from typing import Any

import click

from homi.address import show
from homi.cli.fast import OPTIONS
from homi.cli.submission import RUNGS

Command = Callable[..., Any]

SECONDS_MAX = 1_000_000_000  # 31 years: the system takes no timeout of ten times that
DIGITS_MAX = 15  # of a number: a sequence has no more

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


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
    checks = {"seconds": _seconds, "number": _number, "rung": click.Choice(RUNGS)}
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


def _number(text: str) -> int:
    """text as a number that counts something."""
    if not (text.isascii() and text.isdecimal() and len(text) <= DIGITS_MAX):
        raise click.BadParameter(f"{show(text)} is no whole number from 0 on")
    return int(text)
