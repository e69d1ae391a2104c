"""The command homi as click reads it: one lazily loaded module a family of verbs.

Owns which verb is where, and the form of usage errors.  homi(1) is the page.
"""

import builtins
import importlib
import os
from collections.abc import Callable
from keyword import iskeyword

import click

from homi import __version__
from homi.address import show
from homi.cli import meant
from homi.errors import Interrupted, Usage

COMPLETE = "_HOMI_COMPLETE"  # set by a shell that completes a line
LONGEST = 400  # characters of what is wrong with a command line
# verb -> module; the modules are named after the pages that describe them.
MODULES = {
    "start": "service",
    "stop": "service",
    "restart": "service",
    "run": "service",
    "log": "log",
    "metrics": "metrics",
    "hook": "hook",
    "mcp": "mcp",
    "status": "status",
    "doctor": "doctor",
    "selftest": "selftest",
    "claim": "claim",
    "release": "claim",
    "alias": "alias",
    "room": "room",
    "wake": "wake",
    "set": "setting",
    "ls": "ls",
    "whois": "whois",
    "legs": "legs",
    "codex": "codex",
    "command": "command",
    "seat": "seat",
    "spawn": "spawn",
    "respawn": "spawn",
    "unspawn": "spawn",
    "fan": "spawn",
    "consult": "consult",
    "adopt": "adopt",
    "retitle": "adopt",
    "move": "move",
    "pair": "pair",
    "unpair": "pair",
    "setup": "setup",
    "link": "link",
    "bundle": "bundle",
    "send": "send",
    "ask": "ask",
    "reply": "ask",
    "answer": "ask",
    "inbox": "inbox",
    "read": "read",
    "ack": "read",
    "wait": "wait",
    "thread": "thread",
    "search": "search",
    "trace": "trace",
    "queue": "queue",
    "limits": "limits",
    "continue": "limits",
    "quarantine": "quarantine",
    "prune": "prune",
    "config": "config",
    "completion": "completion",
    "export": "export",
    "import": "importing",
}


class Verbs(click.Group):
    """The verbs; the module of one is imported when it is asked for."""

    arm: Callable[[click.Command], click.Command] | None = None  # for completion

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every verb, in the order they are explained."""
        return list(MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb of that name, None when there is none."""
        if cmd_name not in MODULES:
            return None
        module = importlib.import_module(f"homi.cli.{MODULES[cmd_name]}")
        # A verb that is a word of the language is named with a line behind it.
        taken = iskeyword(cmd_name) or hasattr(builtins, cmd_name)
        command: click.Command = getattr(module, cmd_name + "_" * taken)
        return command if self.arm is None else self.arm(command)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The verb that args begin with; Usage (64) with the nearest one if none."""
        if args[0] == "help":
            return self._helped(ctx, args[1:])
        if args[0] not in MODULES and not args[0].startswith("-"):
            raise meant.unknown(args[0], meant.verb(args[0], MODULES), "homi")
        return super().resolve_command(ctx, args)

    def _helped(
        self, ctx: click.Context, words: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The verb that words begin with, asked for its help; without words the help
        of all is printed here, and that of a topic, which is a page.  A line that is
        being completed asks for none."""
        if ctx.resilient_parsing:
            return self.resolve_command(ctx, words) if words else (None, None, [])
        if not words:
            click.echo(ctx.get_help())
            ctx.exit()
        if len(words) == 1 and words[0] not in MODULES:
            topic = importlib.import_module("homi.cli.topic")
            if (page := topic.topics().get(words[0].lower())) is not None:
                topic.show(page)
                ctx.exit()
            if not words[0].startswith("-") and not meant.verb(words[0], MODULES):
                raise Usage(
                    f"no command and no page is called {show(words[0])}",
                    hint="homi help lists the commands, homi help homi the pages",
                )
        return self.resolve_command(ctx, [*words, "--help"])


@click.group(
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 88},
    epilog="homi COMMAND --help has examples; homi help homi lists the pages.",
)
@click.version_option(__version__, prog_name="homi", message="%(prog)s %(version)s")
@click.option("--home", metavar="DIR", default="", help="The state root to use.")
@click.pass_context
def homi(ctx: click.Context, home: str) -> None:
    """Durable mail for coding agents: kept first, then handed over.

    \b
      $ homi start
      $ homi claim gds-agent
      $ homi send gds-agent 'the nightly build is red'
      $ homi queue
    """
    ctx.obj = home


def run(args: list[str]) -> int:
    """The exit status of args; usage errors are Usage (64) in the form of the house."""
    if asked := os.environ.get(COMPLETE):
        completion = importlib.import_module("homi.cli.completion")
        Verbs.arm = staticmethod(completion.arm)
        return int(completion.answer(homi, asked))
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
        raise Usage(_plain(error), hint=_hint(error)) from error


def _plain(error: click.UsageError) -> str:
    """A message of click's in the form of the house."""
    if isinstance(error, click.NoSuchOption):
        return f"no such option {show(error.option_name)}"
    text = error.format_message()
    text = " ".join((text[:1].lower() + text[1:]).split()).removesuffix(".")
    # What was given stands in it whole, whatever that is.
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _hint(error: click.UsageError) -> str:
    """What was likely meant, else where to read on."""
    command = error.ctx.command_path if error.ctx else "homi"
    if isinstance(error, click.NoSuchOption) and error.option_name == "--home":
        return "it stands before the command: homi --home DIR COMMAND"
    if isinstance(error, click.NoSuchOption) and error.possibilities:
        return f"did you mean {error.possibilities[0]}?"
    if command in ("homi send", "homi ask", "homi reply", "homi answer"):
        if isinstance(error, click.NoSuchOption):
            return "a text that begins with - stands behind --"
        if type(error) is click.UsageError:
            return "the text is one argument: quote it"
    return f"{command} --help"
