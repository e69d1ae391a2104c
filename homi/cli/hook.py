"""`hook` as click reads it: its help, and the events it knows.  homi-hook(1)."""

import click

from homi.cli import hooked
from homi.cli.fast import EVENTS


@click.command()
@click.argument("event", metavar="EVENT", type=click.Choice(EVENTS))
@click.pass_obj
def hook(home: str, /, event: str) -> int:
    """Print what waits for this session, in its own hook.

    \b
      $ homi hook prompt          # in the client's hook UserPromptSubmit
      $ homi hook session-start   # in SessionStart
      $ homi hook stop            # in Stop: prints nothing

    It always exits with 0 and prints nothing where there is nothing to tell.
    """
    return hooked.run(home, event)
