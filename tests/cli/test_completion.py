"""The completion scripts in the shells they are for."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.standin.place import Place, homi_command

ASK = {
    "bash": """
        eval "$(homi completion bash)"
        COMP_WORDS=(homi send g) COMP_CWORD=2 COMPREPLY=()
        _homi_completion homi
        printf '%s\\n' "${COMPREPLY[@]}"
    """,
    # The script registers itself with compdef, which asks for a terminal: the
    # function is called as zsh would call it.
    "zsh": """
        compdef() { :; }; compadd() { print -rl -- $completions; }
        eval "$(homi completion zsh)"
        words=(homi send g) CURRENT=3
        _homi_completion
    """,
    "fish": """
        homi completion fish | source
        complete --do-complete 'homi send g'
    """,
}


@pytest.fixture
def place() -> Iterator[Place]:
    """A state root with two names, and homi in the path."""
    with Place() as made:
        made.install()
        made.start()
        for name in ("ada", "gds-agent"):
            made.ok("claim", name)
        made.stop()
        yield made


@pytest.mark.parametrize("shell", list(ASK))
def test_a_shell_completes_a_name(shell: str, place: Place) -> None:
    """Of the names that are claimed, those that begin so; nothing on stderr."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    done = subprocess.run(
        [shell, "-c", ASK[shell]],
        env=place.env(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout.split(), done.stderr) == (["gds-agent"], "")


HOSTILE = (
    "$(touch hit)",
    "`touch hit`",
    "a;touch hit",
    "a\ntouch hit",
    "a'$(touch hit)",
)


@pytest.mark.parametrize("shell", list(ASK))
def test_no_word_of_another_is_run_by_a_shell_that_completes(
    shell: str, place: Place
) -> None:
    """Neither a name in a file or a folder nor a sender in a journal; the good ones
    beside them are offered."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    file = place.state / "names.json"
    state = json.loads(file.read_text())
    for word in HOSTILE:
        state["claims"][f"g{word}"] = state["claims"]["ada"] | {"name": f"g{word}"}
        (place.state / "mail" / f"g{word}").mkdir(parents=True)
    file.write_text(json.dumps(state))
    ids = [f"g{number}{word}" for number, word in enumerate(HOSTILE)]
    lines = [
        {"v": 1, "seq": number + 1, "at": "2026-11-29T22:30:00.123Z", "to": "ada"}
        | {"via": {"door": "control", "uid": 7}}
        | {"msg": {"id": one, "from": one, "to": "ada", "text": one, "kind": "mail"}}
        for number, one in enumerate(ids)
    ]
    box = place.state / "mail" / "ada"
    box.mkdir(parents=True, exist_ok=True)
    (box / "inbox.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))
    for script in (ASK[shell], ASK[shell].replace("send", "read")):
        done = subprocess.run(
            [shell, "-c", script],
            env=place.env(),
            cwd=place.work,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert not (place.work / "hit").exists(), done.stdout
        assert "touch" not in done.stdout
        if script == ASK[shell]:
            assert (done.stdout.split(), done.stderr) == (["gds-agent"], "")


@pytest.mark.parametrize(
    ("shell", "file"),
    [
        ("bash", "bash-completion/completions/homi"),
        ("zsh", "zsh/site-functions/_homi"),
        ("fish", "fish/vendor_completions.d/homi.fish"),
    ],
)
def test_what_is_installed_for_a_shell_is_what_the_command_prints(
    shell: str, file: str
) -> None:
    """A package puts the files where shells look; nobody writes them by hand."""
    made = subprocess.run(
        [*homi_command(), "completion", shell],
        capture_output=True,
        timeout=60,
        check=True,
    )
    folder = Path(__file__).parents[2] / "contrib" / "completions"
    assert (folder / file).read_bytes() == made.stdout
