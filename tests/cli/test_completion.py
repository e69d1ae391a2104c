"""The completion scripts in the shells they are for."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.standin.place import Place

ASK = {
    "bash": """
        eval "$(homi completion bash)"
        COMP_WORDS=(homi send g) COMP_CWORD=2 COMPREPLY=()
        _homi_completion homi
        printf '%s\\n' "${COMPREPLY[@]}"
    """,
    # The script registers itself with compdef, which asks for a terminal: the
    # function is called as zsh would call it.
    "zsh": """
        compdef() { :; }; compadd() { print -rl -- $completions; }
        eval "$(homi completion zsh)"
        words=(homi send g) CURRENT=3
        _homi_completion
    """,
    "fish": """
        homi completion fish | source
        complete --do-complete 'homi send g'
    """,
}


@pytest.fixture
def place() -> Iterator[Place]:
    """A state root with two names, and homi in the path."""
    with Place() as made:
        program = made.run / "homi"
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m homi "$@"\n')
        program.chmod(0o755)
        made.start()
        for name in ("ada", "gds-agent"):
            made.ok("claim", name)
        made.stop()
        yield made


@pytest.mark.parametrize("shell", list(ASK))
def test_a_shell_completes_a_name(shell: str, place: Place) -> None:
    """Of the names that are claimed, those that begin so; nothing on stderr."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    done = subprocess.run(
        [shell, "-c", ASK[shell]],
        env=place.env(PATH=f"{place.run}:{os.environ['PATH']}"),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout.split(), done.stderr) == (["gds-agent"], "")
