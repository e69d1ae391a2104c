"""Two live sessions of one name, in two registries: the first stays, until a person
decides otherwise."""

from collections.abc import Iterator

import pytest

from tests.cli.run import at_terminal
from tests.standin.driver import Standin
from tests.standin.place import Place, until

CONFIG = 'device = "here"\nring = 8\nreserve = 1\nregistries = ["~/.other"]\n'


@pytest.fixture
def place() -> Iterator[Place]:
    """A machine whose agents use two configuration folders."""
    with Place(CONFIG) as made:
        (made.home / ".other").mkdir(mode=0o700)
        made.start()
        made.ok("claim", "svc")
        made.ok("claim", "ada")
        yield made


def owner(place: Place) -> int:
    """The pid that has ada, 0 when nobody has it."""
    (row,) = [row for row in place.json("ls") if row["name"] == "ada"]
    return int((row.get("owner") or {"pid": 0})["pid"])


def test_a_person_moves_a_name_and_its_mailbox_stays(place: Place) -> None:
    """--take needs a terminal; mail goes where the name went."""
    first = place.session("ada", "--auto")
    until(lambda: owner(place) == first.pid, "the first has the name")
    place.send("ada", "to the first")
    assert first.letter("to the first")
    env = place.env(CLAUDE_CONFIG_DIR=str(place.home / ".other"))
    second = Standin(env, "ada", place.work, "--auto")
    place.sessions.append(second)
    place.started.append(second.pid)

    def both() -> bool:
        (row,) = [row for row in place.json("ls") if row["name"] == "ada"]
        return second.pid in row.get("others", [])

    until(both, "the second shows beside the first")
    assert owner(place) == first.pid
    refused = place.homi("claim", "ada", "--take")
    assert refused.returncode == 77, refused.stderr
    assert owner(place) == first.pid
    taken = at_terminal(
        place.env(), place.work, ["claim", "ada", "--take"], screen=False
    )
    assert taken.returncode == 0, taken.stderr
    until(lambda: owner(place) == second.pid, "the person moved the name")
    message = place.send("ada", "to the second")
    assert second.letter("to the second")["msg_id"] == message
    assert [line["msg"]["text"] for line in place.lines("ada")] == [
        "to the first",
        "to the second",
    ]
    second.kill()
    until(lambda: owner(place) == first.pid, "the name comes back to who is left")
