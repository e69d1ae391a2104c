"""Templates: those that come with homi, and what of one is refused."""

from pathlib import Path

import pytest

from homi.commands import ready
from homi.commands.template import Template, filled, parse
from homi.errors import BadConfig, NoInput


@pytest.mark.parametrize("name", ["aider", "claude", "codex", "gemini", "opencode"])
def test_each_template_of_homi_can_be_used(name: str) -> None:
    """And none gives a letter away in an argument."""
    label, template = ready.load(name)
    assert label == name
    assert template.stdin or "{file}" in template.argv
    assert template.answer is not None


def test_the_list_has_every_template() -> None:
    """What the refusal of an unknown one prints."""
    assert ready.names() == ["aider", "claude", "codex", "gemini", "opencode"]


def test_a_file_of_a_persons_own_is_read(tmp_path: Path) -> None:
    """By its path; it is called as the file is."""
    mine = tmp_path / "mine.toml"
    mine.write_text('argv = ["cat"]\ntimeout_s = 5\n')
    assert ready.load(str(mine)) == ("mine", Template(argv=["cat"], timeout_s=5))
    with pytest.raises(NoInput, match="cannot read"):
        ready.load(str(tmp_path / "none.toml"))
    with pytest.raises(NoInput, match="no template"):
        ready.load("mine")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("argv = 3", "array"),
        ("argv = [", "Invalid|Unclosed|Unexpected"),
        ("argv = []", "names no program"),
        ('argv = ["a\\u0000b"]', "NUL"),
        ('argv = ["a", "{body}"]', "a letter is no argument"),
        ('argv = ["a", "{sesion}"]', "no field {sesion}"),
        ('argv = ["awk", "{print}"]', "{{print}} is {print} as it stands"),
        ('argv = ["a"]\nenv = ["A*=1"]', "sets no variable"),
        ('argv = ["a"]\nstdin = false', "neither stdin nor {file}"),
        ('argv = ["a"]\nanswer = { from = "file" }', "{out}, which no word names"),
        ('argv = ["a"]\nanswer = { pointer = "x" }', "does not begin with /"),
        ('argv = ["a"]\nanswer = { event = "x" }', "by a pointer"),
        ('argv = ["a"]\nanswer = { at = "x" }', "unknown field `at`"),
        ('argv = ["a"]\nmint = true', "mint is for"),
        ('argv = ["a"]\nnew = ["a", "{session}"]', "unless mint"),
        ('argv = ["a"]\nok_codes = [0, 300]', "from 0 to 255"),
        ('argv = ["a"]\nretry_codes = [0]', "each once"),
        ('argv = ["a"]\nbusy_match = "("', "busy_match"),
        (f'argv = ["a"]\nbusy_match = "{"a" * 513}"', "over 512 characters"),
        ('argv = ["a"]\ntimeout_s = 0', "not from 1"),
        ('argv = ["a"]\nmax_body = 3', "less than 1024"),
        ('argv = ["a"]\nenv = ["A B"]', "no variable"),
        ('argv = ["a"]\nlive = "vim"', "Invalid enum"),
    ],
)
def test_what_cannot_be_is_refused_with_its_reason(text: str, why: str) -> None:
    """In one line, and before anything is bound."""
    with pytest.raises(BadConfig, match=why.replace("{", r"\{")) as found:
        parse(text, "mine.toml")
    assert found.value.text.startswith("mine.toml: ")
    assert "\n" not in found.value.text


def test_a_field_is_filled_within_its_word_and_makes_no_second() -> None:
    """Whatever a session is called."""
    words = ["a", "--resume={session}", "{cwd}/x", "${HOME}", "<{id}>"]
    values = {"session": "a b", "cwd": "/c", "id": "{cwd}"}
    assert filled(words, values) == ["a", "--resume=a b", "/c/x", "${HOME}", "<{cwd}>"]


def test_a_doubled_brace_is_no_field() -> None:
    """Scripts have braces of their own."""
    assert parse('argv = ["awk", "{{print}}"]', "x").argv[1] == "{{print}}"
    assert filled(["{{print}} {id}"], {"id": "7"}) == ["{print} 7"]
    with pytest.raises(BadConfig, match="which no word names"):
        parse('argv = ["a", "{{out}}"]\nanswer = { from = "file" }', "x")
