"""A program of others that is run to its end, within a time.

Owns how such a one is run and what is said where that fails; knows none of them.
"""

import os
import subprocess
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from homi.errors import Unavailable


class Said(NamedTuple):
    """How it ended, and what it printed."""

    status: int
    out: str
    err: str


def run(
    argv: Sequence[str],
    *,
    patience: float,
    given: str = "",
    env: Mapping[str, str] | None = None,
    errors: str = "replace",
) -> Said:
    """What it says, given that on its standard input; Unavailable (69) where it cannot
    be run or does not end within patience (s).  errors: see bytes.decode()."""
    name = os.path.basename(argv[0])
    try:
        done = subprocess.run(
            argv,
            input=given,
            capture_output=True,
            env=env,
            timeout=patience,
            check=False,
            encoding="utf-8",
            errors=errors,
        )
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{name} did not end within {patience:g} s") from None
    except OSError as error:
        raise Unavailable(f"cannot run {name}: {error.strerror}") from error
    return Said(done.returncode, done.stdout, done.stderr)
