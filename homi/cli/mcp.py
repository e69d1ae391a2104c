"""`mcp`: homi's tools for an agent's client.  homi-mcp(1).

Owns that only this command needs the library for it, and what is said without it.
"""

import os
import sys

import click

from homi.cli.fast import load
from homi.errors import Unavailable, Usage
from homi.mcp import early


@click.command()
@click.pass_obj
def mcp(home: str) -> int:
    """Serve homi's tools to the agent's client that runs this.

    \b
      $ homi mcp    # in the client's own settings: homi-mcp(1)
    """
    if os.isatty(0):
        raise Usage(
            "an agent's client talks to this command, no person does",
            hint="homi-mcp(1) says how to name it to one",
        )
    try:
        return load("homi.mcp.server", "run", home, early.load("homi.mcp.server"))
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("homi"):
            raise
        raise Unavailable(
            f"the Python package {error.name} is missing, which the tools need",
            hint=f"{sys.executable} -m pip install 'mcp>=2.3,<3'",
        ) from error
