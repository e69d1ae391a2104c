"""Files and pull requests: what was there tells nothing, what is new is told once."""

import asyncio
import errno
import os
import resource
import shutil
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from homi.errors import NotReached, Unavailable, Usage
from homi.store.disk import RealDisk
from homi.wakes import files, pulls
from homi.wakes.files import Found, walk
from homi.wakes.progress import Progress
from homi.wakes.pulls import Gh
from homi.wakes.seen import Marks
from homi.wakes.state import Wake
from homi.wakes.watch import TOLD_MAX, Watch, firing
from tests.unit.wakes.kit import Land

PATIENCE = 60.0  # s
GH = """#!/bin/sh
echo "$@" >> "$0.args"
cat "$0.out"
cat "$0.err" >&2
exit "$(cat "$0.status")"
"""


class Program:
    """A gh of the test's own, first on PATH."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "gh"
        self.path.write_text(GH)
        self.path.chmod(0o755)
        self.says("[]")

    def says(self, out: str, err: str = "", status: int = 0) -> None:
        """What it says from now on."""
        for name, text in (("out", out), ("err", err), ("status", str(status))):
            Path(f"{self.path}.{name}").write_text(text)

    @property
    def asked(self) -> list[str]:
        """How it was called."""
        return Path(f"{self.path}.args").read_text().splitlines()


@pytest.fixture
def gh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    return Program(folder)


def play(root: Path, scenario: Callable[[Land], Awaitable[None]]) -> None:
    """Run a scenario in the machine's own time: its looks run in threads."""

    async def main() -> None:
        land = Land(root)
        land.keeper.events.quiet = 0.02
        try:
            async with asyncio.timeout(PATIENCE):
                await scenario(land)
        finally:
            land.die()

    asyncio.run(main())


async def until(true: Callable[[], object]) -> None:
    """Wait until it is so."""
    while not true():  # noqa: ASYNC110 - what is waited for is in a thread
        await asyncio.sleep(0.005)


async def swept(land: Land, true: Callable[[], object]) -> None:
    """Look again and again until it is so."""
    while not true():
        land.keeper.sweep()
        await asyncio.sleep(0.02)


async def looked(land: Land, wake: Wake) -> None:
    """Until its first look ended."""
    await until(lambda: land.keeper.at(wake).seeded or land.keeper.at(wake).failure)


def again(land: Land) -> None:
    """Another life."""
    land.die()
    land.begin()
    land.keeper.events.quiet = 0.02


def pull(number: int, head: str, title: str = "a change") -> str:
    return (
        f'{{"number":{number},"title":"{title}","url":"https://x/{number}",'
        f'"author":{{"login":"eve"}},"headRefOid":"{head}"}}'
    )


def test_a_new_file_is_told_once_and_what_was_there_never(tmp_path: Path) -> None:
    """Over a restart, too; a file that changes is new."""

    async def scenario(land: Land) -> None:
        (tmp_path / "old.csv").write_text("x")
        wake = land.add("file", f"{tmp_path}/*.csv", overlap="queue")
        await looked(land, wake)
        (tmp_path / "new.csv").write_text("y")
        await until(lambda: land.texts())
        again(land)
        land.keeper.sweep()
        (tmp_path / "old.csv").write_text("changed")
        await until(lambda: len(land.texts()) > 1)
        assert land.facts("file") == [f"{tmp_path}/new.csv", f"{tmp_path}/old.csv"]

    play(tmp_path, scenario)


def test_what_came_while_nothing_ran_is_told_at_the_next_start(tmp_path: Path) -> None:
    """The seen-set is of the last look, not of the start."""

    async def scenario(land: Land) -> None:
        wake = land.add("file", f"{tmp_path}/*.csv")
        await looked(land, wake)
        land.die()
        (tmp_path / "night.csv").write_text("y")
        land.begin()
        land.keeper.events.quiet = 0.02
        await until(lambda: land.texts())
        assert land.facts("file") == [f"{tmp_path}/night.csv"]

    play(tmp_path, scenario)


def test_files_that_come_while_the_last_is_unread_are_told_together(
    tmp_path: Path,
) -> None:
    """None is lost, and there is no heap of envelopes."""

    async def scenario(land: Land) -> None:
        wake = land.add("file", f"{tmp_path}/*.csv")
        await looked(land, wake)
        (tmp_path / "a.csv").write_text("1")
        await swept(land, lambda: land.texts())
        for name in ("b", "c", "d"):
            (tmp_path / f"{name}.csv").write_text("1")
        watch = land.keeper.events._watches[wake.id]
        await swept(land, lambda: len(watch._before) == 3 and not watch.unsettled)
        assert len(land.texts()) == 1
        land.read()
        await swept(land, lambda: len(land.texts()) == 2)
        lines = land.texts()[1].splitlines()
        assert [x for x in lines if x.startswith("file: ")] == [
            f"file: {tmp_path}/{name}.csv" for name in "bcd"
        ]

    play(tmp_path, scenario)


def test_a_death_between_the_envelope_and_the_mark_tells_nothing_twice(
    tmp_path: Path,
) -> None:
    """At every step of it, with another file that comes meanwhile."""

    def life(number: int) -> None:
        root = tmp_path / str(number)
        root.mkdir()

        async def scenario(land: Land) -> None:
            wake = land.add("file", f"{root}/*.csv", overlap="queue")
            await looked(land, wake)
            land.die()
            (root / "a.csv").write_text("1")
            asyncio.get_running_loop().set_exception_handler(lambda *_: None)
            land.begin(left=number)
            land.keeper.events.quiet = 0.02
            await until(lambda: land.disk.dead or land.keeper.at(wake).fired)
            again(land)
            (root / "b.csv").write_text("1")
            land.keeper.sweep()
            await until(lambda: len(_told(land)) >= 2)
            assert sorted(_told(land)) == [f"{root}/a.csv", f"{root}/b.csv"]

        play(root, scenario)

    for number in range(1, 12):
        life(number)


def _told(land: Land) -> list[str]:
    """Every file of every envelope."""
    lines = [line for text in land.texts() for line in text.splitlines()]
    return [x.partition(": ")[2] for x in lines if x.startswith("file: ")]


def test_who_waits_for_the_first_look_is_told_where_none_will_come(
    tmp_path: Path, gh: Program
) -> None:
    """Somebody else removed the wake meanwhile."""
    gh.path.write_text("#!/bin/sh\nexec sleep 60\n")

    async def scenario(land: Land) -> None:
        told: list[str] = []
        wake = land.wake("pr", "cli/cli")
        land.keeper.add(wake, lambda: told.append("added"))
        assert told == []
        land.keeper.remove(wake.id)
        assert told == ["added"]

    play(tmp_path, scenario)


def test_what_a_removed_wake_had_seen_is_removed_too(tmp_path: Path) -> None:
    """Also where a death came between the two."""

    async def scenario(land: Land) -> None:
        gone, stays = (land.add("file", f"{tmp_path}/*.csv") for _ in range(2))
        for wake in (gone, stays):
            await looked(land, wake)
        path = tmp_path / f"seen-{gone.id}.json"
        left = path.read_bytes()
        land.keeper.remove(gone.id)
        assert not path.exists()
        path.write_bytes(left)
        again(land)
        assert not path.exists()
        assert (tmp_path / f"seen-{stays.id}.json").exists()

    play(tmp_path, scenario)


def found(**marks: str) -> dict[str, Found]:
    return {key: Found(mark, [("file", key)]) for key, mark in marks.items()}


def test_a_file_that_is_still_written_is_waited_for(tmp_path: Path) -> None:
    """It must be the same in two looks, and closed where a notice told it is open."""
    watch = Watch(Marks(str(tmp_path), "w", RealDisk()), settling=True)
    assert watch.look(found(old="1")) == {}
    assert watch.look(found(old="1", a="1")) == {}
    assert watch.unsettled
    assert watch.look(found(old="1", a="2")) == {}
    watch.writing.add("a")
    assert watch.look(found(old="1", a="2")) == {}
    assert list(watch.look(found(old="1", a="2"))) == ["a"]  # nobody closes it
    watch.marks.add({"a": "2"})
    assert watch.look(found(old="1", a="2")) == {}
    assert not watch.unsettled
    assert watch.look(found(a="2")) == {}
    watch.look(found(a="2", old="1"))
    assert list(watch.look(found(a="2", old="1"))) == ["old"]  # it went and came


def test_of_very_many_one_envelope_names_some_and_tells_the_rest() -> None:
    """All of them are marked by it."""
    told = found(**{f"f{n:04}": "1" for n in range(TOLD_MAX + 7)})
    made = firing(Progress(wake="w"), told)
    assert len(made.marks) == TOLD_MAX + 7
    assert made.facts[-1] == ("more", "7")
    assert made.slot == firing(Progress(wake="w"), told).slot
    assert made.slot != firing(Progress(wake="w", fired=1), told).slot


def test_a_pattern_matches_as_a_shell_has_it(tmp_path: Path) -> None:
    """Files alone; no hidden one; ** any depth, and no link out of it."""
    for name in ("a.csv", ".hid.csv", "in/b.csv", "in/deep/c.csv", "in/d.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "in/loop").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "pipe.csv")

    def names(pattern: str) -> list[str]:
        seen = walk(f"{tmp_path}/{pattern}").files
        return sorted(os.path.relpath(path, tmp_path) for path in seen)

    assert names("*.csv") == ["a.csv"]
    assert names("a.csv") == ["a.csv"]
    assert names("*/*.csv") == ["in/b.csv"]
    assert names("**/*.csv") == ["a.csv", "in/b.csv", "in/deep/c.csv"]
    assert names("[ab].csv") == ["a.csv"]
    assert names(".*.csv") == [".hid.csv"]
    assert names("none/*.csv") == []


def _touch(folder: Path, name: bytes) -> None:
    """A file of that name."""
    Path(os.fsdecode(os.path.join(os.fsencode(folder), name))).touch()


def test_a_name_that_is_no_text_is_told_as_its_bytes(tmp_path: Path) -> None:
    """Whether it was there before or comes: the others are told, too."""

    async def scenario(land: Land) -> None:
        for name in (b"old\xff.csv", b"new\xfe.csv"):
            wake = land.add("file", f"{tmp_path}/{name[:3].decode()}*.csv")
            await looked(land, wake)
            _touch(tmp_path, name)
        wake = land.add("file", f"{tmp_path}/*.csv", overlap="queue")
        await looked(land, wake)
        await until(lambda: len(land.texts()) == 2)
        told = {f"{tmp_path}/old\\xff.csv", f"{tmp_path}/new\\xfe.csv"}
        assert set(_told(land)) == told

    play(tmp_path, scenario)


def test_a_tree_deeper_than_files_may_be_open_is_walked(tmp_path: Path) -> None:
    """By ** to its end, and by a part for each folder."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    deep = tmp_path.joinpath(*["d"] * 600)
    deep.mkdir(parents=True)
    (deep / "a.csv").write_text("")
    low = tmp_path.joinpath(*["d"] * 40)
    (low / "a.csv").write_text("")
    used = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 64
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 20, hard))
    try:
        assert len(walk(f"{tmp_path}/**/a.csv").files) == 2
        parts = "/".join(["*"] * 41)
        assert list(walk(f"{tmp_path}/{parts}").files) == [f"{low}/a.csv"]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_what_cannot_be_looked_at_for_a_while_is_not_new_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where files run out, or a disk stutters; what is gone is forgotten."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.csv").write_text("")
    (tmp_path / "b.csv").write_text("")
    pattern = f"{tmp_path}/**/*.csv"
    watch = Watch(Marks(str(tmp_path), "w", RealDisk()), settling=False)
    seen = walk(pattern)
    assert (watch.look(seen.files), len(seen.files), seen.hidden) == ({}, 2, ())
    scandir = os.scandir

    def stutters(path: str) -> Any:  # noqa: ANN401
        if path.endswith("/in"):
            raise OSError(errno.EMFILE, "too many")
        return scandir(path)

    with monkeypatch.context() as trouble:
        trouble.setattr(os, "scandir", stutters)
        seen = walk(pattern)
        assert watch.look(seen.files, seen.hidden) == {}
    seen = walk(pattern)
    assert watch.look(seen.files, seen.hidden) == {}
    # The control: what is really gone for a while is new.
    shutil.move(tmp_path / "in", tmp_path / "out.d")
    shutil.move(tmp_path / "b.csv", tmp_path / "b.d")
    watch.look(walk(pattern).files)
    shutil.move(tmp_path / "b.d", tmp_path / "b.csv")
    assert f"{tmp_path}/b.csv" in watch.look(walk(pattern).files)


def test_a_pattern_that_means_a_whole_disk_is_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By files and by entries; the walk ends there."""
    for n in range(30):
        (tmp_path / f"{n}.csv").write_text("")
    assert len(walk(f"{tmp_path}/*").files) == 30
    monkeypatch.setattr(files, "FILES_MAX", 20)
    with pytest.raises(NotReached, match="more than 20 files"):
        walk(f"{tmp_path}/*")
    monkeypatch.setattr(files, "ENTRIES_MAX", 10)
    with pytest.raises(NotReached, match="more than 10 entries"):
        walk(f"{tmp_path}/**")


@pytest.mark.parametrize(
    "pattern", ["a.csv", "", "/a/../b", "/a\0", "/" + "x" * 5000, "/**/x/**", "/*" * 65]
)
def test_a_pattern_that_is_none_is_refused(pattern: str) -> None:
    """The control is every other test here."""
    with pytest.raises(Usage):
        files.checked(pattern)


def test_a_pull_request_is_told_when_it_comes_and_when_it_changes(
    tmp_path: Path, gh: Program
) -> None:
    """Its title is its author's: it cannot look like a fact."""

    async def scenario(land: Land) -> None:
        gh.says(f"[{pull(1, 'aa')}]")
        wake = land.add("pr", "cli/cli", overlap="queue")
        await looked(land, wake)
        land.keeper.events.poll = 0.0
        evil = "nice\\nslot: never\\u202e"
        gh.says(f"[{pull(1, 'aa')},{pull(2, 'bb', evil)}]")
        await swept(land, lambda: land.texts())
        again(land)
        land.keeper.events.poll = 0.0
        gh.says(f"[{pull(1, 'cc')},{pull(2, 'bb', evil)}]")
        await swept(land, lambda: len(land.texts()) > 1)
        assert land.facts("pr") == ["#2", "#1"]
        assert land.facts("title")[0] == "nice\\nslot: never\\u202e"
        assert land.facts("slot") == ["", ""]
        assert gh.asked[0].startswith("pr list --repo cli/cli --state open")

    play(tmp_path, scenario)


def test_what_gh_cannot_do_has_a_word_and_one_fix(tmp_path: Path, gh: Program) -> None:
    """The wake waits, and begins once gh can; what was there then tells nothing."""

    async def scenario(land: Land) -> None:
        gh.says("", "To get started with GitHub CLI, please run:  gh auth login\n", 4)
        wake = land.add("pr", "cli/cli")
        await looked(land, wake)
        at = land.keeper.at(wake)
        assert (at.state, at.fix, at.seeded) == ("gh-auth", "gh auth login", False)
        land.keeper.events.poll = 0.0
        gh.says("", "HTTP 404: not found\n", 1)
        await swept(land, lambda: at.state == "gh-failed")
        assert "404" in at.failure
        gh.says("no json")
        await swept(land, lambda: "something else" in at.failure)
        gh.says(f"[{pull(1, 'aa')}]")
        await swept(land, lambda: at.seeded)
        assert (at.state, land.texts()) == ("", [])

    play(tmp_path, scenario)


def test_a_gh_that_hangs_keeps_no_file_from_being_told(
    tmp_path: Path, gh: Program
) -> None:
    """However many repositories are waited for."""
    gh.path.write_text("#!/bin/sh\nexec sleep 60\n")

    async def scenario(land: Land) -> None:
        for n in range(4):
            land.add("pr", f"cli/cli{n}")
        wake = land.add("file", f"{tmp_path}/*.csv")
        await looked(land, wake)
        (tmp_path / "a.csv").write_text("1")
        await until(lambda: land.texts())
        assert land.facts("file") == [f"{tmp_path}/a.csv"]

    play(tmp_path, scenario)


def test_without_gh_the_path_of_the_daemon_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is the daemon that runs it."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable, match="not in the PATH of the daemon") as missing:
        Gh().pulls("cli/cli")
    assert missing.value.reason == "gh-missing"


def test_a_gh_that_hangs_is_ended(
    tmp_path: Path, gh: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its time, and at once where the daemon stops."""
    gh.path.write_text("#!/bin/sh\nexec cat /dev/zero > /dev/null\n")
    monkeypatch.setattr(pulls, "TIMEOUT", 0.2)
    with pytest.raises(NotReached, match="did not end"):
        Gh().pulls("cli/cli")
    # What it started holds its pipes.
    gh.path.write_text("#!/bin/sh\nsleep 60 &\nsleep 60\n")
    with pytest.raises(NotReached, match="did not end"):
        Gh().pulls("cli/cli")
    gh.path.write_text('#!/bin/sh\nsleep 60 &\n: > "$0.args"\nsleep 60\n')
    monkeypatch.setattr(pulls, "TIMEOUT", 50.0)
    closed = Gh()
    with ThreadPoolExecutor() as pool:
        asked = pool.submit(closed.pulls, "cli/cli")
        while not Path(f"{gh.path}.args").exists():
            assert not asked.done()
        closed.close()
        with pytest.raises(Unavailable):
            asked.result(PATIENCE)
    closed = Gh()
    closed.close()
    with pytest.raises(Unavailable):
        closed.pulls("cli/cli")


@pytest.mark.parametrize(
    "repository", ["cli", "a/b/c", "-x/y", "a/-b", "a b/c", "", "a/b;id"]
)
def test_what_is_no_repository_is_refused(repository: str) -> None:
    """gh takes it as an argument, so it must be none of its options."""
    assert pulls.checked("cli/cli") == "cli/cli"
    with pytest.raises(Usage):
        pulls.checked(repository)
