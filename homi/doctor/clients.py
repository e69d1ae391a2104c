"""The check that the clients know homi as they were told of it.

Owns what of that a person must know; homi.setup has the files.  homi-doctor(1).
"""

from collections.abc import Iterator
from pathlib import Path

from homi.doctor.check import Check, Verdict, warn, well
from homi.doctor.facts import Facts
from homi.setup import program, record, standing
from homi.setup.editor import State
from homi.setup.installation import CLIENTS, Installation


def _setup(_facts: Facts) -> Iterator[Verdict]:
    """What was put into the files of each client is there, and can be run."""
    for client, folder in CLIENTS.items():
        config = folder()
        if (config / record.NAME).is_file():
            yield from list(_lacking(client, config)) or [well(f"{client} knows homi")]
        elif config.is_dir():
            yield well(f"{client} was not told of homi; homi setup {client} does")


def _lacking(client: str, config: Path) -> Iterator[Verdict]:
    """What one client does not have any more."""
    fix, hand = f"homi setup {client}", f"homi setup {client} --remove ends it"
    rows = Installation(client, "", program.words("", "")).change(
        remove=False, dry=True
    )
    for row in rows:
        if row.state is State.ADDED:
            yield warn(f"{row.file}: {client} lacks homi's {row.part}", fix, hand)
        elif row.state is State.LEFT and row.note:
            yield warn(f"{row.file}: {row.note}", hand=f"mend {row.file}, then {fix}")
    for file, path in dict.fromkeys(
        (one.file, one.program)
        for one in standing.entries(client, config)
        if not one.runs
    ):
        yield warn(f"{file}: {client} is to run {path}, which is gone", fix)


CHECKS = (
    Check(
        "setup",
        "the clients that were told of homi still know it",
        _setup,
        "no client has run here",
    ),
)
