"""Secrets on a screen are covered, wherever a row ends."""

from homi.scan.covered import mask

TOKEN = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"


def test_a_secret_is_covered_and_nothing_beside_it() -> None:
    rows = ["$ env | grep TOKEN", f"GITHUB_TOKEN={TOKEN} and more", "done"]
    shown = mask(rows, 120)
    assert shown[::2] == rows[::2]
    assert TOKEN[:8] not in shown[1]
    assert shown[1].endswith(" and more")
    assert "[masked: " in shown[1]


def test_what_goes_on_in_the_next_row_is_covered_there_too() -> None:
    line = "x" * 20 + " " + TOKEN
    rows = [line[:40], line[40:] + " tail", "", ""]
    shown = "\n".join(mask(rows, 40))
    assert TOKEN[:12] not in shown
    assert TOKEN[-12:] not in shown
    assert " tail" in shown


def test_a_screen_without_a_secret_stays_as_it_is() -> None:
    rows = ["password:", "the token of the day", "", "sha 16C7e42F292c6912"]
    assert mask(rows, 80) == rows
