"""Where the state root is: one answer, or a refusal."""

import os
from pathlib import Path

import pytest

from homi.errors import BadConfig
from homi.root import state_root


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("HOMI_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", "/home/ada")


def test_the_option_comes_before_the_variables(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What is typed is meant where it is typed, so it may be relative."""
    assert state_root() == "/home/ada/.local/state/homi"
    monkeypatch.setenv("XDG_STATE_HOME", "/var/x")
    assert state_root() == "/var/x/homi"
    monkeypatch.setenv("HOMI_HOME", "~/own//root/")
    assert state_root() == "/home/ada/own/root"
    monkeypatch.chdir(tmp_path)
    assert state_root("here") == os.path.join(tmp_path, "here")


@pytest.mark.parametrize("variable", ["HOMI_HOME", "XDG_STATE_HOME"])
def test_a_relative_variable_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """It would be another silent mailbox in every folder."""
    monkeypatch.setenv(variable, "some/where")
    with pytest.raises(BadConfig) as caught:
        state_root()
    assert variable in caught.value.text
    assert "some/where" in caught.value.text
