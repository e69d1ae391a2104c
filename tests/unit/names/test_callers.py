"""The class of a caller, measured on real processes."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from homi.address import OWNER
from homi.callers import classify
from homi.claims import Body
from homi.envelope import SessionRef
from homi.requests import CallerClass
from tests.unit.names.test_names import NOW
from tests.unit.names.test_owners import Scene
from tests.unit.sessions.place import Registry, on_terminal

UID = os.getuid()
CHILD = "import subprocess; c = subprocess.Popen(['sleep', '600']); print(c.pid)"


@pytest.fixture
def scene(registry: Registry, tmp_path: Path) -> Scene:
    """Nobody home."""
    return Scene(registry, tmp_path)


@pytest.fixture
def family() -> Iterator[tuple[int, int]]:
    """A process and its child."""
    parent = subprocess.Popen(
        [sys.executable, "-c", f"{CHILD}; import sys; sys.stdout.flush(); c.wait()"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    yield parent.pid, child
    os.kill(child, signal.SIGKILL)
    parent.wait()
    parent.stdout.close()


def test_a_child_of_a_session_is_its_session(
    registry: Registry, scene: Scene, family: tuple[int, int]
) -> None:
    """A tool, a hook or a sub-agent reads and acks as its session."""
    parent, child = family
    registry.write(parent, name="My Ada")
    scene.look()
    for pid in family:
        caller = classify(pid, UID, scene.sessions, scene.owners)
        assert caller.caller is CallerClass.SESSION
        assert caller.session == scene.sessions.live[parent]
        assert (caller.name, caller.pid) == ("my-ada", pid)
    registry.write(parent, name="My Ada", procStart="1")
    scene.look()
    assert classify(child, UID, scene.sessions).caller is CallerClass.SERVICE


def test_the_nearest_session_above_counts(
    registry: Registry, scene: Scene, family: tuple[int, int]
) -> None:
    """A session started by a session is its own."""
    parent, child = family
    registry.write(parent, name="outer")
    registry.write(child, name="inner")
    scene.look()
    assert classify(child, UID, scene.sessions).name == "inner"
    assert classify(parent, UID, scene.sessions).name == "outer"


def test_a_session_that_owns_one_name_writes_as_that(
    registry: Registry, scene: Scene
) -> None:
    """Also when it was given the name; with two, its own stands."""
    pid = registry.session("zoe")
    scene.look()
    ref = scene.sessions.live[pid].ref

    def name() -> str | None:
        return classify(pid, UID, scene.sessions, scene.owners).name

    assert name() == "zoe"
    scene.names.claim("ada", None, NOW)
    scene.owners.take("ada", ref)
    assert name() == "ada"
    scene.names.claim("bob", None, NOW)
    scene.owners.take("bob", ref)
    assert name() == "zoe"


def test_a_session_by_a_reserved_name_has_none(
    registry: Registry, scene: Scene
) -> None:
    """It must not write as the person."""
    pid = registry.session("Owner")
    scene.look()
    caller = classify(pid, UID, scene.sessions, scene.owners)
    assert caller.caller is CallerClass.SESSION
    assert caller.name is None


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc")
@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, CallerClass.PERSON),
        ({"NOT_CLAUDECODE": "1"}, CallerClass.PERSON),
        ({"CLAUDECODE": "1"}, CallerClass.SERVICE),
        ({"CODEX_THREAD_ID": "t"}, CallerClass.SERVICE),
    ],
)
def test_a_terminal_without_an_agents_variables_is_a_person(
    scene: Scene, variables: dict[str, str], expected: CallerClass
) -> None:
    """An agent's tool may run on a terminal of its own."""
    with on_terminal(**variables) as pid:
        caller = classify(pid, UID, scene.sessions)
        assert caller.caller is expected
        assert caller.name == (OWNER if expected is CallerClass.PERSON else None)
        other = classify(pid, UID + 1, scene.sessions)
        assert other.caller is CallerClass.SERVICE


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc")
def test_an_environment_that_reads_as_empty_proves_no_person(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the middle of an exec it does; an agent's variables may come with the next
    look."""
    with on_terminal() as pid:
        assert classify(pid, UID, scene.sessions).caller is CallerClass.PERSON
        real = open

        def empty(path: str, *args: object, **more: object) -> object:
            given = os.devnull if str(path).endswith("/environ") else path
            return real(given, *args, **more)  # type: ignore[call-overload]

        monkeypatch.setattr("builtins.open", empty)
        assert classify(pid, UID, scene.sessions).caller is CallerClass.SERVICE


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc")
def test_a_session_on_a_terminal_is_a_session(registry: Registry, scene: Scene) -> None:
    """Ancestors come first: a person's terminal does not make it a person."""
    with on_terminal() as pid:
        registry.write(pid, name="ada")
        scene.look()
        assert classify(pid, UID, scene.sessions).caller is CallerClass.SESSION


def test_a_process_without_a_terminal_is_a_service(scene: Scene) -> None:
    """cron, a unit, a hook of git: it must say who it is."""
    child = subprocess.Popen(["setsid", "sleep", "600"], stdin=subprocess.DEVNULL)
    try:
        caller = classify(child.pid, UID, scene.sessions)
        assert caller.caller is CallerClass.SERVICE
        assert caller.name is None
    finally:
        child.kill()
        child.wait()


@pytest.mark.parametrize("pid", [0, -1, 2**22 + 5])
def test_a_process_that_vanished_is_a_service(scene: Scene, pid: int) -> None:
    """It may end between its connect and our look."""
    assert classify(pid, UID, scene.sessions).caller is CallerClass.SERVICE


def test_a_tool_of_a_bound_thread_is_that_thread(
    registry: Registry, scene: Scene, tmp_path: Path
) -> None:
    """Whatever session started Codex; below no Codex, or of a thread that has no name,
    it is nobody."""
    thread = "0190aaaa-bbbb-7ccc-8ddd-eeeeeeeeeee1"
    body = Body(client="codex", id=thread, home="/h", cwd="/")
    scene.names.claim("bob", None, NOW)
    scene.names.embody("bob", body)
    script = tmp_path / "codex"
    script.write_text("sleep 600 & echo $!; wait")
    codex = subprocess.Popen(["/bin/sh", script], stdout=subprocess.PIPE)
    assert codex.stdout is not None
    tool = int(codex.stdout.readline())
    registry.write(codex.pid, name="ada")
    scene.look()
    try:
        found = classify(tool, UID, scene.sessions, scene.owners, thread)
        assert (found.caller, found.name) == (CallerClass.SESSION, "bob")
        assert found.session is not None
        assert found.session.ref == SessionRef(0, f"codex:{thread}", thread)
        assert scene.owners.belongs(found.name, found.session)
        other = classify(tool, UID, scene.sessions, scene.owners, thread[:-1] + "2")
        assert (other.caller, other.name) == (CallerClass.SERVICE, None)
        apart = classify(os.getpid(), UID, scene.sessions, scene.owners, thread)
        assert (apart.caller, apart.name) == (CallerClass.SERVICE, None)
        plain = classify(tool, UID, scene.sessions, scene.owners)
        assert plain.name == "ada"
    finally:
        os.kill(tool, signal.SIGKILL)
        codex.wait()
        codex.stdout.close()
