"""Verdicts and the table of the benchmark: a goal that can be missed, and is told."""

import json
from pathlib import Path

from tests.bench.report import Figure, Goal, save, skipped, table


def test_a_figure_is_ok_or_missed_by_its_goal() -> None:
    """At the bound it is met; beyond it, on the wrong side, it is not."""
    least, most = Goal(0.5), Goal(300, most=True, unit="ms")
    verdicts = [
        Figure("g", "l", value, goal).verdict
        for goal, value in ((least, 0.5), (least, 0.49), (most, 300), (most, 301))
    ]
    assert verdicts == ["ok", "MISSED", "ok", "MISSED"]
    assert Figure("g", "l", 1.0).verdict == ""


def test_a_verb_that_failed_is_missed_however_quick() -> None:
    """No answer is no figure."""
    one = Figure("g", "l", float("inf"), Goal(1000, most=True, unit="ms"))
    assert one.verdict == "MISSED"


def test_the_table_has_goal_verdict_and_reason_beside_each_figure() -> None:
    """What was skipped says why, what missed says where the time goes."""
    shown = table(
        [
            Figure("accept", "1 client", 0.9, Goal(0.8), "9/s : 10/s"),
            Figure("accept", "64", 0.4, Goal(0.5), profile=("50 %  a function",)),
            Figure(
                "accept", "p99", 9.0, Goal(4, most=True), profile=("50 %  a function",)
            ),
            skipped("peers", "redis", Goal(0.75), "redis-server is not installed"),
        ]
    )
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    assert "1 client 0.90 x >= 0.80 x ok 9/s : 10/s" in lines
    assert lines[lines.index("64 0.40 x >= 0.50 x MISSED") + 1] == "50 % a function"
    assert lines.count("50 % a function") == 1
    assert lines[lines.index("p99 9.00 x <= 4.00 x MISSED") + 1] == (
        "the profile is that above"
    )
    at = lines.index("redis - >= 0.75 x skipped")
    assert lines[at + 1] == "redis-server is not installed"
    assert lines[-1] == "1 ok, 2 MISSED, 1 skipped"


def test_all_of_it_is_saved_as_json(tmp_path: Path) -> None:
    """For programs that compare runs."""
    target = tmp_path / "figures.json"
    save(target, [Figure("accept", "1 client", 0.9, Goal(0.8))], 5)
    found = json.loads(target.read_text())
    (figure,) = found["figures"]
    assert (figure["value"], figure["goal"]) == (0.9, ">= 0.80 x")
    assert (figure["verdict"], found["runs"]) == ("ok", 5)
