"""Words agree with their number."""

import re
from pathlib import Path

import homi
from homi.amount import amount

# An s that a number decides, made where it is wanted.
OWN = re.compile(r"""'' if [a-z_.() ]+ == 1 else 's'|'s' \*""")


def test_one_is_one_and_all_else_is_more() -> None:
    assert [amount(n, "message") for n in (0, 1, 2)] == [
        "0 messages",
        "1 message",
        "2 messages",
    ]
    assert amount(1, "line was", "lines were") == "1 line was"
    assert amount(3, "line was", "lines were") == "3 lines were"


def test_no_other_module_makes_a_plural_of_its_own() -> None:
    """Each that did forgot it in some other line."""
    assert OWN.search("""f"{n} member{'' if n == 1 else 's'}" """)
    assert OWN.search("""f"{n} file{'s' * (n != 1)}" """)
    for path in Path(homi.__file__).parent.rglob("*.py"):
        if path.name != "amount.py":
            assert not OWN.search(path.read_text()), path
