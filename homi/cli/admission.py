"""`link card`, `link admit` and `link expel`: one end of a pairing.  homi-link(1).

Owns how they are told; homi pair runs them on both devices.
"""

import click

from homi import paths
from homi.amount import amount
from homi.cli import options, output
from homi.cli.fast import load
from homi.pairing import admission
from homi.pairing.program import program
from homi.render import cell


@click.command()
@options.as_json
@click.pass_obj
def card(home: str, /, *, as_json: bool) -> int:
    """Show what another device has to know of this one.

    \b
      $ homi link card
      $ homi link card --json | jq -r .key
    """
    # Of its own: this loads a cryptographic library, for the key may have to be made.
    return load("homi.cli.card", "show", home, as_json)


@click.command()
@click.argument("device")
@click.argument("key")
@click.option("--exe", metavar="E", help="The homi here that sshd is to run.")
@options.as_json
@click.pass_obj
def admit(
    home: str, /, device: str, key: str, exe: str | None, *, as_json: bool
) -> None:
    """Let the holder of KEY in as DEVICE, to its link and nothing else.

    \b
      $ homi link admit laptop 'ssh-ed25519 AAAA...'
    """
    root = paths.state_root(home)
    done = admission.admit(root, device, key, exe or program())
    if as_json:
        output.json_line(done)
        return
    output.line(f"{'admitted' if done.changed else 'already admitted'} {done.device}")
    for number in done.foreign:
        output.note(
            f"line {number} of {cell(done.file)} has the same key and is not homi's:"
            " sshd takes the first that fits"
        )


@click.command()
@click.argument("device")
@options.as_json
@click.pass_obj
def expel(home: str, /, device: str, *, as_json: bool) -> None:
    """Let DEVICE in no more; its line and link go, mail for it stays.

    \b
      $ homi link expel laptop
    """
    done = admission.expel(paths.state_root(home), device)
    if as_json:
        output.json_line(done)
        return
    output.line(f"expelled {done.device}")
    if done.pending:
        left = amount(done.pending, "message stays", "messages stay")
        output.note(f"{left} in the queue (homi queue)")
