"""No check of the doctor is without a test that breaks what it looks at."""

from pathlib import Path

from homi.doctor.table import CHECKS
from tests.unit.doctor.breaks import BREAKS

TESTS = Path(__file__).parents[1]


def test_every_check_is_broken_somewhere_and_every_break_is_used() -> None:
    """By its key, in a test that has the row compared with it."""
    assert {key.partition(":")[0] for key in BREAKS} == {check.name for check in CHECKS}
    folders = (TESTS / "unit" / "doctor", TESTS / "integration")
    files = [file for folder in folders for file in folder.glob("test_*.py")]
    text = "\n".join(file.read_text("utf-8") for file in files)
    assert [key for key in BREAKS if f'"{key}"' not in text] == []
