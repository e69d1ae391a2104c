"""Options as click knows them, those of the fast path among them.

Owns the translation of homi.cli.fast's table, so that each option is spelled once.
"""

from collections.abc import Callable
from typing import Any

import click

from homi.cli.fast import OPTIONS
from homi.cli.submission import RUNGS

Command = Callable[..., Any]

SECONDS_MAX = 1_000_000_000  # 31 years: the system takes no timeout of ten times that

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


def _type(kind: str) -> click.ParamType[Any] | None:
    """What click checks a value by."""
    if kind == "seconds":
        return click.FloatRange(min=0, max=SECONDS_MAX)
    if kind == "number":
        return click.IntRange(min=0)
    if kind == "rung":
        return click.Choice(RUNGS)
    return None if kind == "flag" else click.STRING
