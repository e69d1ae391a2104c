"""`ask` and `reply`, when click reads their options, and `answer`.  homi-ask(1),
homi-answer(1).

Owns who may use `answer`: a person at a terminal.
"""

import click

from homi import paths
from homi.address import OWNER
from homi.cli import options
from homi.cli.caller import connect
from homi.cli.fast import post
from homi.cli.submission import ASK_DEFAULT, Plan
from homi.dial import Absent
from homi.errors import NotAllowed, Usage
from homi.requests import CallerClass


@click.command()
@click.argument("names", metavar="NAME[,NAME...]")
@click.argument("text", metavar="[TEXT | -]", required=False)
@options.of("ask")
@click.pass_obj
def ask(
    home: str,
    /,
    names: str,
    text: str | None,
    timeout: float | None,
    **fields: object,
) -> int:
    """Ask NAME, wait for its answer and print that alone.

    \b
      $ homi ask reviewer 'is branch fix-210 good to merge?'
      $ git diff | homi ask --timeout 600 reviewer@mini    # 124: not answered yet
      $ homi ask --gather=1 'ada,bob,carl' 'which one of you has the lock?'
      $ homi ask --needs human --deadline 3600 --default no owner 'may I deploy?'
    """
    plan = _plan(Plan(home, names, text, "ask"), fields)
    plan.timeout = ASK_DEFAULT if timeout is None else timeout
    if plan.default and not plan.deadline:
        raise Usage("--default needs a --deadline that can pass")
    for field in ("gather", "deadline"):
        if fields[field] == 0:
            raise Usage(f"--{field} is 0", hint="homi ask --help")
    return post(plan)


@click.command()
@click.argument("message", metavar="ID")
@click.argument("text", metavar="[TEXT | -]", required=False)
@options.of("reply")
@click.pass_obj
def reply(home: str, /, message: str, text: str | None, **fields: object) -> int:
    """Answer the message ID with TEXT or standard input.

    \b
      $ homi reply 7c10 'yes, merge it'
      $ make test 2>&1 | homi reply 7c10
      $ homi reply --from reviewer 7c10 -f verdict.md
    """
    return post(_plan(Plan(home, message, text, "reply"), fields))


@click.command()
@click.argument("message", metavar="ID")
@click.argument("text", metavar="[TEXT | -]", required=False)
@click.option("-f", "--file", metavar="FILE", help="Take the text from FILE.")
@options.as_json
@click.pass_obj
def answer(
    home: str,
    /,
    message: str,
    text: str | None,
    file: str | None,
    *,
    as_json: bool,
) -> int:
    """As a person, answer the message ID in your words.

    \b
      $ homi inbox                         # what waits for you
      $ homi answer 7c10 'yes, go ahead'
    """
    me, client = connect(paths.state_root(home))
    if me.caller is not CallerClass.PERSON:
        raise NotAllowed(
            f"only a person at a terminal answers here, this is a {me.caller}",
            hint="homi reply answers what was sent to your own name",
        )
    if client is None:
        raise Absent(
            "no daemon runs, which alone can tell who you are", hint="homi start"
        )
    client.close()
    plan = Plan(home, message, text, "reply")
    fields: dict[str, object] = {"file": file, "as_json": as_json, "sender": OWNER}
    return post(_plan(plan, fields))


def _plan(plan: Plan, fields: dict[str, object]) -> Plan:
    """plan with the options that were given."""
    if plan.text is not None and fields["file"]:
        raise Usage("both a text and a file", hint=f"homi {plan.verb} --help")
    for field, value in fields.items():
        # As from a variable that is not set: asked without it, it would be another's.
        if value == "":
            option = field.replace("sender", "from")
            raise Usage(f"--{option} is empty", hint=f"homi {plan.verb} --help")
        if value is not None:
            setattr(plan, field, value)
    return plan
