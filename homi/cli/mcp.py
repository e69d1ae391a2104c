"""`mcp`: homi's tools for an agent's client.  homi-mcp(1).

Owns that only this command needs the library for it, and what is said without it.
"""

import sys

import click

from homi.cli.fast import load
from homi.errors import Unavailable


@click.command()
@click.pass_obj
def mcp(home: str) -> int:
    """Serve homi's tools to the agent's client that runs this.

    \b
      $ homi mcp    # in the client's own settings: homi-mcp(1)
    """
    try:
        return load("homi.mcp.server", "run", home)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("homi"):
            raise
        raise Unavailable(
            f"the Python package {error.name} is missing, which the tools need",
            hint=f"{sys.executable} -m pip install 'mcp>=2.3,<3'",
        ) from error
