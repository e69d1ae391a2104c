"""The options that say when a wake fires.

Owns that there is one trigger and no more.  homi-wake(1) lists them.
"""

import os
from collections.abc import Callable
from typing import Any

import click

from homi.errors import Usage
from homi.wakes.state import Kind, Trigger
from homi.wakes.words import moment, seconds, zone_of

_OPTIONS: tuple[tuple[str, Kind], ...] = (
    ("cron", "cron"),
    ("every", "every"),
    ("at", "at"),
    ("on_file", "file"),
    ("on_pr", "pr"),
    ("on_exit", "exit"),
)


def triggers(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of schedules, for a command."""
    for option in (
        click.option("--tz", "zone", metavar="ZONE", help="The zone of EXPR and TIME."),
        click.option("--at", metavar="TIME", help="Once, at TIME."),
        click.option("--every", metavar="SPAN", help="Every 15m, 6h, 2d."),
        click.option("--cron", metavar="EXPR", help="When a crontab(5) line would."),
    ):
        command = option(command)
    return command


def given_trigger(given: dict[str, Any], zone: str, now: float) -> Trigger:
    """The one trigger that was given; Usage (64) for none, or several."""
    found = [
        (key, kind, given[key]) for key, kind in _OPTIONS if given.get(key) is not None
    ]
    if len(found) != 1:
        what = "no trigger" if not found else "more than one trigger"
        raise Usage(what, hint="one of --cron, --every, --at, --on-file and the like")
    key, kind, value = found[0]
    if not value:
        raise Usage(f"--{key.replace('_', '-')} is empty")
    zone_of(zone)
    if kind == "file":
        # The daemon stands in another folder.
        value = os.path.abspath(os.path.expanduser(value))
    elif kind == "every":
        value = str(seconds(value))
    elif kind == "at":
        value = moment(value, zone, now)
    return Trigger(kind=kind, value=value, zone=zone if kind == "cron" else "")
