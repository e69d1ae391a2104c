"""One script a verb, and some over several: see script for how they are written."""

import shutil
from pathlib import Path

import pytest

from homi.cli.main import MODULES
from tests.cli.script import Script
from tests.standin import claude
from tests.standin.place import Place

SCRIPTS = sorted(Path(__file__).parent.glob("*.txt"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_script(path: Path) -> None:
    """The command line does what its pages say, against a real daemon."""
    if path.stem in ("seat", "spawn") and shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    with Place() as place:
        if path.stem == "spawn":
            claude.install(place.bin)
        try:
            Script(path, place).run()
        finally:
            place.homi("stop")


def test_every_verb_has_a_script() -> None:
    """A verb without one is a verb nobody has run."""
    beside = {
        "respawn",
        "unspawn",
        "fan",
        "adopt",
        "retitle",
        "consult",
    }  # in that of spawn
    assert {path.stem for path in SCRIPTS} | beside >= set(MODULES)
