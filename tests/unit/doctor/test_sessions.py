"""Checks of sessions, over real sockets and files where it can be."""

import json
import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from homi.doctor.check import Grade
from homi.doctor.sessions import CHECKS
from homi.peers import process, registry
from homi.reports import NameRow, SessionRow
from tests.unit.doctor.breaks import shown
from tests.unit.doctor.kit import bad, facts, fine, look, told


@pytest.fixture
def listening() -> Iterator[str]:
    """The path of a socket that answers."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as made:
        made.bind(f"{folder}/s.sock")
        made.listen()
        yield f"{folder}/s.sock"


def test_a_session_that_does_not_answer_is_told_with_its_pid(
    root: Path, listening: str
) -> None:
    ada = SessionRow(pid=77, name="ada", socket=listening)
    fine(CHECKS, "answers", told(root, sessions=[ada]))
    os.unlink(listening)
    found = bad(CHECKS, "answers", told(root, sessions=[ada]))
    assert "ada (pid 77)" in found.text
    assert "kill 77" in found.hand


def test_a_socket_of_homis_own_that_does_not_answer_fails(
    root: Path, listening: str
) -> None:
    name = NameRow(name="ada", state="held", socket=listening)
    fine(CHECKS, "answers", told(root, names=[name]))
    os.unlink(listening)
    assert bad(CHECKS, "answers", told(root, names=[name])).fix == "homi restart"


def test_a_session_without_a_socket_is_told(root: Path) -> None:
    bare = SessionRow(pid=77, name="ada", reachable=False)
    shown("answers: none", bad(CHECKS, "answers", told(root, sessions=[bare])))


def test_a_client_that_homi_does_not_know_is_told(root: Path) -> None:
    def seen(version: str, client: str = "") -> list[SessionRow]:
        return [SessionRow(pid=77, version=version, client=client)]

    fine(CHECKS, "clients", told(root, sessions=seen(registry.VERSION)))
    newer = told(root, sessions=seen("3.0.1"))
    shown("clients: newer", bad(CHECKS, "clients", newer))
    older = told(root, sessions=seen("1.9.1"))
    shown("clients: older", bad(CHECKS, "clients", older))
    fine(CHECKS, "clients", told(root, sessions=seen("codex/0.171.9 (x)", "codex")))
    old = told(root, sessions=seen("codex/0.90.0 (x)", "codex"))
    assert "Codex 0.90.0" in bad(CHECKS, "clients", old).text
    fine(CHECKS, "clients", told(root, sessions=seen("", "aider")))


@pytest.mark.parametrize("word", ["hold", "refuse"])
def test_a_setting_that_keeps_letters_back_is_told_with_its_file(
    root: Path, tmp_path: Path, word: str
) -> None:
    """Of the person, and of the project; without one it is well."""
    record = tmp_path / "claude" / "sessions" / "77.json"
    record.parent.mkdir(parents=True)
    seen = [SessionRow(pid=77, name="ada", record=str(record), cwd=str(tmp_path))]
    fine(CHECKS, "inbound", told(root, sessions=seen))
    mine = tmp_path / "claude" / "settings.json"
    project = tmp_path / ".claude" / "settings.local.json"
    project.parent.mkdir()
    for path in (mine, project):
        path.write_text(json.dumps({"crossSessionInbound": word}))
        found = bad(CHECKS, "inbound", told(root, sessions=seen))
        assert word in found.text
        assert str(path) in found.hand
        if word == "hold":
            shown("inbound", found)
        path.write_text(json.dumps({"crossSessionInbound": "accept"}))
        fine(CHECKS, "inbound", told(root, sessions=seen))


def test_a_fight_over_a_name_is_told(root: Path) -> None:
    fine(CHECKS, "names", told(root, names=[NameRow(name="ada", state="held")]))
    noted = NameRow(name="ada", state="held", note="another program lists it")
    shown("names: note", bad(CHECKS, "names", told(root, names=[noted])))
    won = NameRow(name="ada", state="live", note="another program lists it")
    fight = told(root, names=[won], notes=["ada: another program lists it"])
    assert "another program" in bad(CHECKS, "names", fight).text
    twice = NameRow(name="ada", state="live", others=[78])
    found = bad(CHECKS, "names", told(root, names=[twice]))
    assert ("78" in found.text, "another name" in found.hand) == (True, True)


def test_a_room_and_a_command_that_runs_are_well(root: Path) -> None:
    """A bound name that nothing answers for is told."""
    room = NameRow(name="team", state="room", note="2 members")
    bound = NameRow(name="rev", state="live", note="bound to command sh:rev")
    fine(CHECKS, "names", told(root, names=[room, bound]))
    gone = NameRow(name="rev", state="held", note="bound to codex 1 (unreachable)")
    assert "unreachable" in bad(CHECKS, "names", told(root, names=[gone])).text


def test_where_no_client_has_run_the_records_are_said_not_to_be_there(
    root: Path,
) -> None:
    """And with their folder they are this machine's."""
    [row] = look(CHECKS, "domains", facts(root))
    assert (row.grade, "is not there yet" in row.text) == (Grade.OK, True)
    (Path(os.environ["CLAUDE_CONFIG_DIR"]) / "sessions").mkdir(parents=True)
    [row] = look(CHECKS, "domains", facts(root))
    assert row.text.endswith("sessions is of this machine")


def test_records_of_another_machine_are_told_until_they_are_removed(
    root: Path,
) -> None:
    folder = Path(os.environ["CLAUDE_CONFIG_DIR"]) / "sessions"
    folder.mkdir(parents=True)

    def put(number: int, domain: str) -> None:
        record = {"pidDomain": domain, "messagingSocketPath": "/nowhere/7.sock"}
        (folder / f"{number}.json").write_text(json.dumps(record))

    put(7, process.pid_domain())
    fine(CHECKS, "domains", facts(root))
    put(8, "linux:another:pid:[1]")
    found = bad(CHECKS, "domains", facts(root))
    assert found.hand.endswith(f": rm {folder}/8.json")
    (folder / "8.json").unlink()
    fine(CHECKS, "domains", facts(root))


def test_records_of_names_here_are_of_no_other_machine(root: Path) -> None:
    """A start brings them in order; those of a homi that is gone it leaves alone."""
    folder = Path(os.environ["CLAUDE_CONFIG_DIR"]) / "sessions"
    folder.mkdir(parents=True)
    (root / "names.json").write_text('{"v":1,"instance":"ab12"}')
    record = {"messagingSocketPath": "/nowhere/7.sock"}
    lost = json.dumps(record | {"pidDomain": "homi:ab12"})
    (folder / "7.json").write_text(lost)
    shown("domains: own", bad(CHECKS, "domains", told(root)))
    assert bad(CHECKS, "domains", facts(root)).fix == "homi start"
    (folder / "7.json").write_text(lost.replace("ab12", "cd34"))
    assert "1 records of another homi that" in bad(CHECKS, "domains", facts(root)).text
