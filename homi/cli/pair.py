"""`pair` and `unpair`: two devices made known to each other.  homi-pair(1).

Owns how each step is told.
"""

from collections.abc import Iterator

import click

from homi import paths
from homi.cli import options, output
from homi.pairing import pair as course
from homi.pairing.pair import Step, Wanted
from homi.render import cell


@click.command()
@click.argument("host", metavar="USER@HOST")
@click.option("--name", metavar="DEV", help="What the device there is to be called.")
@click.option("--homi", "exe", metavar="PATH", help="The homi there.")
@click.option("--no-install", is_flag=True, help="Put no homi there.")
@options.as_json
@click.pass_obj
def pair(
    home: str,
    /,
    host: str,
    name: str | None,
    exe: str | None,
    *,
    no_install: bool,
    as_json: bool,
) -> None:
    """Link this device with the one that ssh reaches as USER@HOST.

    \b
      $ homi pair me@mini
      $ homi pair --name attic me@192.0.2.7
      $ homi pair --no-install mini
    """
    wanted = Wanted(host, name, exe, not no_install)
    _tell(course.pair(paths.state_root(home), wanted), as_json=as_json)


@click.command()
@click.argument("device")
@options.as_json
@click.pass_obj
def unpair(home: str, /, device: str, *, as_json: bool) -> None:
    """End the link with DEVICE on both devices; mail for it stays.

    \b
      $ homi unpair mini
    """
    _tell(course.unpair(paths.state_root(home), device), as_json=as_json)


def _tell(steps: Iterator[Step], *, as_json: bool) -> None:
    """Each step when it is done."""
    for step in steps:
        if as_json:
            output.json_line(step)
            continue
        space = " " * (8 - len(step.step)) if output.terminal() else "\t"
        output.line(f"{step.step}{space}{cell(step.text)}")
        if step.note:
            output.note(cell(step.note))
        if step.left:
            output.note(f"left: {cell(step.left)}")
