"""homi in the config of Codex: one table, and nothing else of the file."""

import tomllib
from pathlib import Path

import pytest

from homi.setup import codex
from homi.setup.installation import CLIENTS
from tests.unit.setup.kit import Home, all_there

TABLE = "[mcp_servers.homi]\n"
TOML = {
    "empty": "",
    "no end": 'model = "x"',
    "remarks": '# mine\nnotify = ["prog"] # theirs\n\n# about b\n[b]\ny = 2\n# end\n',
    "CRLF": '# mine\r\nmodel = "x"\r\n[b]\r\n\ty = 1\r\n',
    "other servers": '[mcp_servers.other]\ncommand = "x"\nenv = { A = "1" }\n\n\n',
    "dotted": '[mcp_servers]\nother.command = "x"\n',
    "projects": '[projects."/a b"]\ntrust_level = "trusted"\n[hooks.state]\n"x" = 1\n',
    "odd text": 'a = """\n[mcp_servers.homi]\ncommand = 1\n"""\nb = "ü\u2028\u0085"\n',
}


@pytest.mark.parametrize("given", TOML.values(), ids=TOML)
def test_one_table_goes_in_and_comes_out_without_a_trace(
    home: Home, given: str
) -> None:
    """All else is byte for byte what it was: hooks, notify, trust, remarks."""
    file = home.config / "config.toml"
    file.write_bytes(given.encode())
    file.chmod(0o640)
    assert home.states("codex") == {"added"}
    after = file.read_bytes()
    assert after.startswith(given.encode())
    assert file.stat().st_mode & 0o777 == 0o640
    found = tomllib.loads(after.decode())
    server = found["mcp_servers"].pop("homi")
    assert server == {
        "command": str(home.homi),
        "args": ["mcp"],
        "env_vars": codex.VARIABLES,
        "default_tools_approval_mode": "approve",
    }
    before = tomllib.loads(given)
    assert found == {"mcp_servers": {}} | before
    assert b"\n" not in after.replace(b"\r\n", b"") or "\r\n" not in given
    assert home.states("codex") == {"already"}
    assert file.read_bytes() == after
    assert home.states("codex", "--remove") == {"removed"}
    assert home.files() == {"config.toml": given.encode()}
    assert home.states("codex", "--remove") == {"not there"}


def test_what_others_wrote_around_it_since_stays(home: Home) -> None:
    """In front, behind and in the table; a remark on the next table is the next's."""
    file = home.config / "config.toml"
    file.write_text("a = 1\n")
    home.setup("codex")
    ours = file.read_text().removeprefix("a = 1\n")
    more = '[mcp_servers.homi.tools.send]\napproval_mode = "prompt"\n'
    behind = "\n# about b\n[b]\nc = 2 # [x]\n"
    file.write_text(
        "a = 3 # mine\n" + ours + "startup_timeout_sec = 9\n" + more + behind
    )
    assert home.states("codex") == {"already"}
    assert home.setup("codex", "--remove")[0] == 0
    assert file.read_text() == "a = 3 # mine\n" + behind


def test_a_homi_that_moved_is_called_where_it_is_now(home: Home) -> None:
    """What a person set beside the command stays."""
    file = home.config / "config.toml"
    home.setup("codex")
    file.write_text(file.read_text().replace('"approve"', '"prompt" # mine'))
    new = home.path / "a b" / "homi"
    new.parent.mkdir()
    home.homi.rename(new)
    assert "updated\ttools" in home.setup("codex", homi=new)[1]
    server = tomllib.loads(file.read_text())["mcp_servers"]["homi"]
    assert server["command"] == str(new)
    assert server["default_tools_approval_mode"] == "prompt"
    assert "# mine" in file.read_text()


OTHER = "is another program, which needs another name first"
FORM = "written in a way that mcp_servers.homi does not fit"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (b"a = ", "not TOML"),
        (b"\xff = 1\n", "not UTF-8"),
        (b"a = 1\na = 2\n", "not TOML"),
        (b"a = " + b"9" * 5_000, "not TOML"),
        (b"mcp_servers = {}\n", FORM),
        (b"mcp_servers = 1\n", "no table"),
        (b"[[mcp_servers]]\n", "no table"),
        (b'[mcp_servers.homi]\ncommand = "/x/homie"\nargs = ["mcp"]\n', OTHER),
        (b'[mcp_servers.homi]\nurl = "http://127.0.0.1"\n', OTHER),
    ],
)
def test_a_file_that_cannot_be_edited_safely_is_left_alone(
    home: Home, given: bytes, why: str
) -> None:
    """One clear line, 65 and what to paste; the guide is put in all the same."""
    file = home.config / "config.toml"
    file.write_bytes(given)
    status, out, err = home.setup("codex")
    assert status == 65
    first, hint, *rest = err.splitlines()
    assert first.startswith(f"homi: {file}: it is left alone: ")
    assert why in first
    assert (hint, rest) == ("homi: hint: paste the above into it", [])
    assert TABLE in out
    assert "added\tguide" in out
    assert file.read_bytes() == given


def test_a_table_in_another_form_is_taken_out_by_a_person(home: Home) -> None:
    """It is homi, but not written as homi writes it."""
    file = home.config / "config.toml"
    inline = (
        f'mcp_servers = {{ homi = {{ command = "{home.homi}", args = ["mcp"] }} }}\n'
    )
    file.write_text(inline)
    assert "already\ttools" in home.setup("codex")[1]
    status, _, err = home.setup("codex", "--remove")
    assert (status, "take homi out by hand" in err) == (65, True)
    assert file.read_text() == inline


def test_the_example_is_what_setup_writes(home: Home) -> None:
    """But for the path."""
    example = Path(codex.__file__).parent / "agents" / "codex" / "config.toml"
    home.setup("codex")
    written = (home.config / "config.toml").read_text()
    assert written.replace(str(home.homi), "homi") == example.read_text()
    assert all_there(b"homi", written.encode())


def test_the_folder_is_the_one_the_client_uses(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its variable, else in the home."""
    assert CLIENTS["codex"]() == home.path / ".codex"
    monkeypatch.setenv("CODEX_HOME", "/elsewhere")
    assert CLIENTS["codex"]() == Path("/elsewhere")
