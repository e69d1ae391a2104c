"""A person's yes before something ends for ever.

Owns the question and its three answers: yes, no, and nobody to ask.
"""

import sys

import click

from homi.errors import Interrupted, Usage


def sure(what: str, do: str = "throw away", done: str = "thrown away") -> None:
    """Return where a person says yes; Interrupted (130) where not, Usage (64) where
    nobody can be asked."""
    if sys.stdin is None or not sys.stdin.isatty():
        raise Usage(
            f"{what} would be {done} for ever",
            hint="--yes does it unasked",
        )
    if not click.confirm(f"{do.capitalize()} {what} for ever?", err=True):
        raise Interrupted(f"nothing was {done}")
