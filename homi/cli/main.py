"""The command homi as click reads it: one lazily loaded module a family of verbs.

Owns which verb is where, and the form of usage errors.  homi(1) is the page.
"""

import importlib

import click

from homi import __version__
from homi.errors import Interrupted, Usage

# verb -> module; the modules are named after the pages that describe them.
MODULES = {
    "start": "service",
    "stop": "service",
    "run": "service",
    "status": "service",
    "claim": "claim",
    "release": "claim",
    "ls": "claim",
    "send": "send",
    "inbox": "inbox",
    "read": "read",
    "ack": "read",
    "wait": "wait",
    "trace": "trace",
    "queue": "inbox",
}


class Verbs(click.Group):
    """The verbs; the module of one is imported when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every verb, in the order they are explained."""
        return list(MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb of that name, None when there is none."""
        if cmd_name not in MODULES:
            return None
        module = importlib.import_module(f"homi.cli.{MODULES[cmd_name]}")
        command: click.Command = getattr(module, cmd_name)
        return command


@click.group(
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 88},
    epilog="The pages: homi(1), homi-send(1), homi-claim(1), homi-inbox(1), homid(8).",
)
@click.version_option(__version__, prog_name="homi", message="%(prog)s %(version)s")
@click.option("--home", metavar="DIR", default="", help="The state root to use.")
@click.pass_context
def homi(ctx: click.Context, home: str) -> None:
    """Durable mail for coding agents: kept first, then handed over."""
    ctx.obj = home


def run(args: list[str]) -> int:
    """The exit status of args; usage errors are Usage (64) in the form of the house."""
    if not args:
        with homi.make_context("homi", ["--home", ""], resilient_parsing=True) as ctx:
            click.echo(homi.get_help(ctx), err=True)
        return Usage.exit_status
    try:
        with homi.make_context("homi", list(args)) as ctx:
            return int(homi.invoke(ctx) or 0)
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.Abort:
        raise Interrupted("interrupted") from None
    except click.UsageError as error:
        raise Usage(_plain(error.format_message()), hint=_hint(error)) from error


def _plain(text: str) -> str:
    """A message of click's in the form of the house."""
    return " ".join((text[:1].lower() + text[1:]).split()).removesuffix(".")


def _hint(error: click.UsageError) -> str:
    """Where to read on."""
    return f"{error.ctx.command_path if error.ctx else 'homi'} --help"
