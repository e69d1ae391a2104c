"""`config`: what is in effect, and where each value comes from.  homi(1).

Owns the finding out of origins; homi.config has the values.
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
import msgspec

from homi import config as settings
from homi import paths
from homi.address import nearest, show
from homi.cli import options, output
from homi.clock import parse_rfc3339
from homi.connection import Connection
from homi.dial import Absent
from homi.errors import Usage
from homi.policy import Policy
from homi.render import Cell
from homi.reports import StatusReport
from homi.requests import Status

COLUMNS = ("KEY", "VALUE", "UNIT", "ORIGIN")


class Fact(msgspec.Struct, frozen=True):
    """One value; its fields are those of the JSON form."""

    key: str
    value: object
    unit: str
    origin: str
    settable: bool = False


@click.command()
@click.argument("key", required=False)
@options.as_json
@click.pass_obj
def config(home: str, /, key: str | None, *, as_json: bool) -> None:
    """Print the settings, places and bounds in effect.

    \b
      $ homi config
      $ homi config ring
      $ homi config --json | jq -r 'select(.settable).key'
    """
    file = paths.config_file()
    facts = [*_settings(file), *_places(home, file), *_bounds()]
    if key is not None:
        facts = [_the(key, facts)]
    if as_json:
        output.json_lines(facts)
    else:
        plain = not output.terminal()
        output.table(COLUMNS, [_cells(fact, plain=plain) for fact in facts], last=True)
    if _older(paths.state_root(home), file):
        output.note(f"{file} was changed since the daemon read it (homi stop, start)")


def _the(key: str, facts: list[Fact]) -> Fact:
    """The fact of that key; Usage (64) with the nearest."""
    found = {fact.key: fact for fact in facts}
    if key not in found:
        near = nearest(key, found)
        raise Usage(
            f"no setting {show(key)}",
            hint=f"did you mean {near}?" if near else "homi config lists them",
        )
    return found[key]


def _settings(file: Path) -> Iterator[Fact]:
    """The keys of homi.toml."""
    loaded = settings.load(file)
    lines = _lines(file)
    for key in settings.Config.__struct_fields__:
        origin = f"{file}:{lines[key]}" if key in lines else "default"
        value = getattr(loaded, key)
        if key == "policy":
            yield from _policy(loaded.policy, file)
            continue
        if key == "device":
            value = loaded.device_name()
            origin = origin if loaded.device else "default: the host's name"
        yield Fact(key, value, settings.UNITS.get(key, ""), origin, settable=True)


def _policy(policy: Policy, file: Path) -> Iterator[Fact]:
    """The rules of the table policy, each by its name."""
    for key, value, own in (
        ("quiet", policy.quiet or "off", bool(policy.quiet)),
        *_rules("wake", policy.wake, ["*"]),
        *_rules("remote", policy.remote, "deliver"),
    ):
        origin = str(file) if own else "default"
        yield Fact(f"policy.{key}", value, "", origin, settable=True)


def _rules(
    table: str, rules: Mapping[str, object], usual: object
) -> Iterator[tuple[str, object, bool]]:
    """One for each name or device, and the one that counts for all others."""
    for name, value in ({"*": usual} | dict(rules)).items():
        yield f"{table}.{name}", value, name in rules


def _lines(file: Path) -> dict[str, int]:
    """On which line of the file each key is given."""
    try:
        text = file.read_text("utf-8")
    except FileNotFoundError:
        return {}
    found: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if given := re.match(r"\s*[\"']?([\w-]+)[\"']?\s*=", line):
            found.setdefault(given[1], number)
    return found


def _places(home: str, file: Path) -> Iterator[Fact]:
    """Where things are."""
    root = paths.state_root(home)
    base = _variable("XDG_CONFIG_HOME") or "default"
    yield Fact("root", str(root), "", _origin_of_root(home))
    yield Fact("config_file", str(file), "", base)
    yield Fact("socket", str(paths.control_socket(root)), "", "of the root")
    yield Fact("log", str(root / "log" / "homi.log"), "", "of the root")
    registry = str(settings.machine_registry())
    yield Fact("registry", registry, "", _variable("CLAUDE_CONFIG_DIR") or "default")


def _origin_of_root(home: str) -> str:
    """Which of the ways that homi.root knows was taken."""
    if home:
        return "--home"
    return _variable("HOMI_HOME") or _variable("XDG_STATE_HOME") or "default"


def _variable(name: str) -> str:
    """A variable as an origin, where it says something."""
    return f"${name}" if os.environ.get(name) else ""


def _bounds() -> Iterator[Fact]:
    """What nobody can change."""
    for key, value, unit in settings.BOUNDS:
        yield Fact(key, value, unit, "fixed")


def _older(root: Path, file: Path) -> bool:
    """Whether a daemon runs that began before the file was changed."""
    try:
        changed = file.stat().st_mtime
        with Connection(root) as client:
            report = client.call(Status(i=1), StatusReport)
    except (OSError, Absent):
        return False
    return parse_rfc3339(report.since) < changed


def _cells(fact: Fact, *, plain: bool) -> tuple[Cell, ...]:
    """A fact as it is listed: several values with commas between, and for a person
    the unit beside them."""
    value = fact.value
    if isinstance(value, bool):
        value = str(value).lower()  # as the file has it
    if isinstance(value, list):
        value = ", ".join(map(str, value))
    if plain:
        return fact.key, str(value), fact.unit, fact.origin
    return fact.key, f"{value} {fact.unit}".rstrip(), "", fact.origin
