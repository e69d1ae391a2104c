"""One run under its supervisor: what it is given, what is kept, how it is ended."""

import errno
import os
import resource
import signal
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from homi.commands import supervisor
from homi.commands.run import Run, every
from homi.commands.start import begin, end_orphan, environment
from homi.commands.template import Source
from homi.commands.verdict import Broken, Busy, Done, Failed, Unbegun, judge
from homi.peers import process
from tests.unit.commands.conftest import Begin, ended


def mode(run: Run, name: str) -> int:
    return os.stat(os.path.join(run.folder, name)).st_mode & 0o777


def test_the_letter_comes_on_standard_input_and_what_is_said_is_kept(
    begun: Begin,
) -> None:
    """In private files; never among the arguments."""
    script = "tr a-z A-Z; echo oops >&2"
    run = ended(begun(script, "no secret\n", answer=Source()))
    assert judge(run) == Done("NO SECRET")
    assert run.text("err") == "oops\n"
    assert os.stat(run.folder).st_mode & 0o777 == 0o700
    assert {mode(run, name) for name in os.listdir(run.folder)} == {0o600}
    assert b"secret" not in Path(run.folder, "plan.json").read_bytes()


def test_a_run_leads_a_group_and_is_written_down_before_it_begins(
    begun: Begin,
) -> None:
    """So that whoever finds it can end it, and nobody else."""
    run = ended(begun("echo $$"))
    started = run.started
    assert started is not None
    assert started.start
    assert run.text("out") == f"{started.pid}\n"


@pytest.mark.parametrize(
    ("script", "keys", "verdict"),
    [
        ("exit 0", {}, Done()),
        ("exit 7", {"ok_codes": (0, 7)}, Done()),
        ("echo a >&2; exit 7", {}, Failed("exit 7", "a")),
        ("exit 75", {"retry_codes": (75,)}, Busy("exit 75")),
        ("echo locked >&2; exit 1", {"busy_match": "lock"}, Busy("exit 1", "locked")),
        ("exit 1", {"busy_match": "lock"}, Failed("exit 1")),
        (
            f"echo {'a' * 40}b >&2; exit 1",
            {"busy_match": "(a+)+$"},
            Failed("exit 1", "a" * 40 + "b"),
        ),
        ("kill -9 $$", {}, Broken("it was ended by SIGKILL")),
    ],
)
def test_each_end_has_its_meaning(
    begun: Begin, script: str, keys: dict[str, object], verdict: object
) -> None:
    """By the exit status, as the template reads it."""
    assert judge(ended(begun(script, **keys))) == verdict


def test_a_time_limit_ends_the_whole_group(begun: Begin) -> None:
    """Also what the command started beside itself."""
    run = ended(begun("sleep 600 & echo $!; wait", timeout_s=1))
    assert judge(run) == Broken("its time of 1 s was over")
    assert process.start_time(int(run.text("out"))) is None


def test_nothing_of_its_group_outlives_a_command(begun: Begin) -> None:
    """The next run of that session must not come beside it."""
    run = ended(begun("sleep 600 </dev/null & echo $!"))
    assert judge(run) == Done()
    assert process.start_time(int(run.text("out"))) is None


def test_a_supervisor_that_is_asked_to_end_ends_its_command(begun: Begin) -> None:
    """As a service manager asks everything of a service."""
    run = begun("exec sleep 600")
    assert run.started is not None
    os.kill(run.started.supervisor, signal.SIGTERM)
    assert judge(ended(run)) == Broken("it was stopped")


def test_a_command_without_its_supervisor_is_ended_by_whoever_finds_it(
    begun: Begin,
) -> None:
    """What it says goes nowhere; that it may have read the letter stays true."""
    run = begun("exec sleep 600")
    started = run.started
    assert started is not None
    os.kill(started.supervisor, signal.SIGKILL)
    ended(run)
    assert process.alive(started.pid, started.start)
    end_orphan(run)
    assert process.start_time(started.pid) is None
    assert judge(run) == Broken("its supervisor was killed")


def test_a_command_inherits_what_is_listed_and_no_more(
    begun: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No key of the daemon's, and no agent's mark."""
    for name in ("CLAUDECODE", "MY_KEY", "MY_OTHER", "SECRET"):
        monkeypatch.setenv(name, "1")
    env = environment(("MY_*", "SET=so"), "/bin", "/r")
    assert env.keys() >= {"MY_KEY", "MY_OTHER", "HOME", "PATH", "HOMI_HOME"}
    assert env["SET"] == "so"
    assert not env.keys() & {"CLAUDECODE", "SECRET"}


def test_what_cannot_begin_says_why_and_was_not_begun(
    begun: Begin, tmp_path: Path
) -> None:
    """A program that went away between the look and the start."""
    run = ended(begun("exit 0"))
    gone = Run(f"{tmp_path}/runs/00000009", replace(run.plan, n=9, argv=["/none/x"]))
    os.mkdir(gone.folder, 0o700)
    Path(gone.folder, "plan.json").write_bytes(msgspec.json.encode(gone.plan))
    Path(gone.folder, "letter").write_text("a")
    why = begin(gone, {"PATH": "/bin"})
    assert why == "/none/x: No such file or directory"
    assert judge(ended(gone)) == Unbegun(why)


def test_more_than_is_kept_is_thrown_away_and_ends_nothing(begun: Begin) -> None:
    """A command that never stops talking must not fill the disk."""
    run = ended(begun("head -c 20000000 /dev/zero"))
    assert run.end is not None
    assert run.end.cut
    assert os.path.getsize(f"{run.folder}/out") == 16 << 20


def test_an_unreadable_run_hides_no_other(begun: Begin, tmp_path: Path) -> None:
    """It stays where it is."""
    torn, whole = ended(begun("exit 0")), ended(begun("exit 0"))
    Path(torn.folder, "plan.json").write_text("{")
    assert [run.folder for run in every(str(tmp_path))] == [whole.folder]
    assert os.path.isdir(torn.folder)


def test_an_answer_the_disk_did_not_take_is_told_as_cut(begun: Begin) -> None:
    """What is kept must not look like all of it; the control is one that fits."""
    script = "head -c 20000 /dev/zero | tr '\\0' a"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, hard))
    try:
        run = ended(begun(script, answer=Source()))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    told = judge(run)
    assert isinstance(told, Done)
    assert (
        told.answer
        == "a" * 8192 + "\n[it said more than was kept, or than the disk took]"
    )
    assert judge(ended(begun(script, answer=Source()))) == Done("a" * 20_000)


def test_an_end_is_kept_once_the_disk_takes_it(
    begun: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a letter that was read would be taken for one that was broken off."""
    run = ended(begun("exit 0"))
    os.unlink(f"{run.folder}/end.json")
    assert judge(run) == Broken("its supervisor was killed")
    refused = []

    def write(fd: int, data: bytes) -> int:
        if len(refused) < 2:
            refused.append(data)
            raise OSError(errno.ENOSPC, "full")
        if len(refused) < 3:
            refused.append(data)
            return written(fd, data[:3])
        return written(fd, data)

    written = os.write
    monkeypatch.setattr(os, "write", write)
    monkeypatch.setattr(supervisor, "AGAIN", 0.0)
    supervisor.Supervisor(run.folder)._close({"at": 1.0, "status": 0})
    assert (len(refused), judge(run)) == (3, Done())
