"""Whose call it is, by what the daemon measured."""

import pytest

from homi.errors import NotAllowed
from homi.mcp.caller import caller_of
from homi.reports import Identity
from homi.requests import CallerClass


def identity(caller: CallerClass, name: str = "", *names: str) -> Identity:
    """What whoami answers."""
    return Identity(caller, "here", name, list(names))


def test_a_session_calls_as_its_own_name_and_reads_all_it_has() -> None:
    """Of several it writes as the one it has of itself."""
    me = caller_of(identity(CallerClass.SESSION, "ada", "bob", "ada"))
    assert (me.name, me.names, me.device) == ("ada", ("ada", "bob"), "here")
    assert caller_of(identity(CallerClass.SESSION, "", "bob")).name == "bob"


@pytest.mark.parametrize("caller", [CallerClass.PERSON, CallerClass.SERVICE])
def test_a_model_at_a_persons_terminal_is_no_person(caller: CallerClass) -> None:
    """Nor is a service anybody: the control above is a session."""
    with pytest.raises(NotAllowed, match="has no name here"):
        caller_of(identity(caller, "owner"))


def test_a_session_without_a_name_is_told_so() -> None:
    """Its own line, since its user can do something about it."""
    with pytest.raises(NotAllowed, match="no name that could be an address"):
        caller_of(identity(CallerClass.SESSION))
