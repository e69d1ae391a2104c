"""What a name is bound to, and what of it is refused before anything is claimed."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from homi.address import Name
from homi.claims import Body
from homi.commands.binding import Chosen, make, read
from homi.commands.known import Known
from homi.commands.template import Template
from homi.errors import BadConfig, NoInput, Unavailable, Usage

ADA = Name("ada")


@pytest.fixture
def chosen(tmp_path: Path) -> Chosen:
    template = Template(argv=["sh", "{session}"], new=["sh"])
    return Chosen(label="mine", template=template, cwd=str(tmp_path), path="/bin")


def test_a_body_is_read_back_as_it_was_chosen(chosen: Chosen) -> None:
    """With its program found, and more words at the end of both commands."""
    body = make(ADA, replace(chosen, args=["-x"], session="s-1"))
    command = read(body)
    assert command.template.argv == ["/bin/sh", "{session}", "-x"]
    assert command.template.new == ["/bin/sh", "-x"]
    assert (body.id, command.session, command.path) == ("mine:s-1", "s-1", "/bin")


def test_two_bindings_without_a_session_are_two(chosen: Chosen) -> None:
    """Each begins a conversation of its own."""
    assert make(ADA, chosen).ref != make(ADA, chosen).ref


def test_what_cannot_run_is_refused_with_the_measured_fact(chosen: Chosen) -> None:
    """The PATH that was looked in, the folder, the session."""
    with pytest.raises(Unavailable, match=r"no program 'sh' in PATH \(/none\)"):
        make(ADA, replace(chosen, path="/none"))
    with pytest.raises(NoInput, match="no folder"):
        make(ADA, replace(chosen, cwd="/none"))
    with pytest.raises(Usage, match="cannot be the id of a session"):
        make(ADA, replace(chosen, session="--version"))
    with pytest.raises(Usage, match="starts none"):
        make(ADA, replace(chosen, template=replace(chosen.template, new=[])))
    with pytest.raises(BadConfig, match=r"no field \{sesion\}"):
        make(ADA, replace(chosen, args=["{sesion}"]))


def test_a_binding_of_a_later_homi_is_not_guessed_at(chosen: Chosen) -> None:
    """It may mean something else there."""
    body = make(ADA, chosen)
    template = {"argv": ["/bin/sh"], "speed": 3}
    options = {**body.options, "template": template}
    later = Body(client="command", id=body.id, options=options)
    with pytest.raises(BadConfig, match="unknown field `speed`"):
        read(later)


def test_a_session_is_learned_from_the_latest_run_and_kept(tmp_path: Path) -> None:
    """An earlier run that is told late says nothing."""
    known = Known(str(tmp_path))
    known.learn("b", "second", 2)
    known.learn("b", "first", 1)
    known.learn("b", "", 3)
    known.resume("b", 3)
    again = Known(str(tmp_path)).of("b")
    assert (again.session, again.learned, again.resumed) == ("second", 2, 3)


def test_an_unreadable_file_is_set_aside_and_told(tmp_path: Path) -> None:
    """Runs go on without what it held."""
    (tmp_path / "commands.json").write_text("{")
    known = Known(str(tmp_path))
    assert known.of("b").session == ""
    assert len(known.findings) == 1
    known.learn("b", "new", 1)
    assert any((tmp_path / "quarantine").iterdir())
