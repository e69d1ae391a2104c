"""What is refused before a program starts."""

from pathlib import Path

import pytest

from homi.errors import HomiError, NoInput, Unavailable, Usage
from homi.seats import launch


def test_a_program_is_found_in_the_path_that_was_given_and_nowhere_else(
    tmp_path: Path,
) -> None:
    """The PATH of who asks counts, and is named where nothing is in it."""
    program = tmp_path / "b" / "agent"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    with pytest.raises(Unavailable) as caught:
        launch.program(["agent"], str(program.parent), "/")
    assert str(program.parent) in caught.value.text
    program.chmod(0o755)
    found = launch.program(["agent", "-x"], str(program.parent), "/")
    assert found == str(program)
    assert launch.program(["b/agent"], "", str(tmp_path)) == str(program)


def test_a_relative_folder_of_the_path_is_one_of_who_asks(tmp_path: Path) -> None:
    """The daemon runs elsewhere."""
    program = tmp_path / "bin" / "agent"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert launch.program(["agent"], "bin:/bin", str(tmp_path)) == str(program)
    with pytest.raises(Unavailable):
        launch.program(["agent"], "bin:/bin", "/")


def test_a_path_with_a_nul_is_refused() -> None:
    """No process could be given it."""
    with pytest.raises(Usage):
        launch.program(["sh"], "/bin:\0", "/")


@pytest.mark.parametrize("argv", [[], [""], ["sh", "a\0b"]])
def test_what_is_no_command_is_refused(argv: list[str]) -> None:
    with pytest.raises(Usage):
        launch.program(argv, "/bin", "/")


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """tmux would open the seat in another, and say nothing."""
    assert launch.folder(str(tmp_path)) == str(tmp_path)
    for cwd in ("", "relative", str(tmp_path / "none")):
        with pytest.raises(HomiError) as caught:
            launch.folder(cwd)
        assert isinstance(caught.value, NoInput)


def test_nothing_that_an_agent_left_in_the_environment_is_passed_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    monkeypatch.setenv("CODEX_THREAD_ID", "x")
    monkeypatch.setenv("CLAUDE_CODE_CHILD_SESSION", "1")
    monkeypatch.setenv("KEPT", "y")
    found = launch.environment("/bin")
    assert found["KEPT"] == "y"
    assert found["PATH"] == "/bin"
    assert not {n for n in found if n.startswith(("CLAUDE", "CODEX"))}
