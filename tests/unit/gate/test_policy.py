"""Who may wake whom, and what other devices may bring."""

from pathlib import Path

import pytest

from homi.config import load
from homi.errors import BadConfig
from homi.policy import Policy, may_wake, remote

WAKE = Policy(wake={"deploy": ["planner", "ci@lab", "*@mini"], "*": ["*"]})


@pytest.mark.parametrize(
    ("sender", "device", "name", "may"),
    [
        ("planner", None, "deploy", True),
        ("planner", "lab", "deploy", False),
        ("ci", "lab", "deploy", True),
        ("ci", None, "deploy", False),
        ("other", "mini", "deploy", True),
        ("other", None, "deploy", False),
        ("other", "lab", "ada", True),
    ],
)
def test_who_is_on_the_list_of_a_name_may_wake_it(
    sender: str, device: str | None, name: str, may: bool
) -> None:
    assert may_wake(WAKE, sender, device, name) is may


def test_without_a_list_everybody_may_and_a_star_counts_for_the_rest() -> None:
    assert may_wake(Policy(), "ada", "lab", "bob")
    assert not may_wake(Policy(wake={"*": []}), "ada", None, "bob")
    far = Policy(wake={"*": ["*@*"]})
    assert may_wake(far, "ada", "lab", "bob")
    assert not may_wake(far, "ada", None, "bob")


def test_the_closest_rule_on_a_device_counts() -> None:
    rules = Policy(remote={"lab": "refuse", "ci@lab": "deliver", "*": "park"})
    assert remote(rules, "ada", "lab") == "refuse"
    assert remote(rules, "ci", "lab") == "deliver"
    assert remote(rules, "ada", "mini") == "park"
    assert remote(Policy(), "ada", "mini") == "deliver"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('quiet = "soon"', "policy.quiet"),
        ('wake = {"a b" = []}', "wake"),
        ('wake = {ada = ["b@"]}', "no sender"),
        ('remote = {"@lab" = "park"}', "remote"),
        ('remote = {lab = "burn"}', "remote"),
        ("wakes = {}", "wakes"),
    ],
)
def test_a_rule_that_means_nothing_is_refused_with_its_place(
    tmp_path: Path, text: str, said: str
) -> None:
    """78, before the daemon does anything."""
    file = tmp_path / "homi.toml"
    file.write_text(f"[policy]\n{text}\n")
    with pytest.raises(BadConfig, match=said):
        load(file)
    file.write_text('[policy]\nquiet = "22:00-07:00@UTC"\nremote = {lab = "park"}\n')
    assert load(file).policy.remote == {"lab": "park"}
