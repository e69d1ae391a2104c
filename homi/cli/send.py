"""`send`, when click reads its options.  homi-send(1)."""

import click

from homi.cli import options
from homi.cli.fast import post
from homi.cli.submission import WAIT_DEFAULT, Plan
from homi.errors import Usage


@click.command()
@click.argument("to", metavar="NAME")
@click.argument("text", metavar="[TEXT | -]", required=False)
@options.of("send")
@click.pass_obj
def send(
    home: str, /, to: str, text: str | None, timeout: float | None, **fields: object
) -> int:
    """Send TEXT to NAME; without TEXT, or with -, standard input.

    \b
      $ homi send gds-agent 'the nightly build is red'
      $ make 2>&1 | homi send --wait-for seen --timeout 600 gds-agent
      $ homi send --from ci --key 2026-11-30 gds-agent -f report.txt
      $ homi send --reply-to 7c10 ada 'done, see branch fix-210'
      $ homi send --from ci --lines --key 2026-11-30 ada -f failures.txt
    """
    if text is not None and fields["file"]:
        raise Usage("both a text and a file", hint="homi send --help")
    if fields["lines"] and text not in (None, "-"):
        raise Usage("--lines takes standard input or -f FILE, and no text")
    if fields["lines"] and fields["wait_for"]:
        raise Usage("--lines does not wait for a rung", hint="homi wait --help")
    plan = Plan(home, to, text)
    plan.timeout = WAIT_DEFAULT if timeout is None else timeout
    for field, value in fields.items():
        # As from a variable that is not set: sent without it, it would be another
        # sender's, or sent twice.
        if value == "":
            option = field.replace("sender", "from").replace("_", "-")
            raise Usage(f"--{option} is empty", hint="homi send --help")
        if value is not None:
            setattr(plan, field, value)
    return post(plan)
