"""The settings of a name: what each may be, and what counts where none is usable."""

import pytest

from homi.errors import Usage
from homi.settings import DEFAULTS, Pace, change, read, show_all

LEGS = ("claude", "hook")


def test_a_name_without_settings_has_the_defaults() -> None:
    """And each is shown as one."""
    assert read({}) == (DEFAULTS, [])
    shown = show_all({}, LEGS, "")
    assert [(key, value) for key, value, _ in shown] == [
        ("legs", "claude,hook"),
        ("pace", "0.4/20"),
        ("quiet", "off"),
        ("digest", "20"),
    ]
    assert not any(one.own for one in shown)


def test_each_setting_is_kept_as_text_and_read_as_what_it_means() -> None:
    """The file shows what the person wrote."""
    pairs = ["legs=hook,claude", "pace=0.1/5", "quiet=22:00-07:00@UTC", "digest=off"]
    raw = change({}, pairs, LEGS)
    assert raw["pace"] == "0.1/5"
    settings, faults = read(raw)
    assert faults == []
    assert settings.legs == ("hook", "claude")
    assert settings.pace == Pace(0.1, 5)
    assert settings.digest is None
    assert settings.quiet_until(0.0) == 7 * 3600.0
    assert all(one.own for one in show_all(raw, LEGS, ""))


def test_the_policys_quiet_hours_are_the_default_of_a_name() -> None:
    """A name that was given off is awake in them; an unusable value is no choice."""
    for raw, quiet, value, own in (
        ({}, "22:00-07:00", "22:00-07:00", False),
        ({"quiet": "off"}, "22:00-07:00", "off", True),
        ({"quiet": "nonsense"}, "22:00-07:00", "22:00-07:00", False),
        ({}, "", "off", False),
    ):
        assert ("quiet", value, own) in show_all(raw, LEGS, quiet)
        assert read(raw)[0].awake is (raw == {"quiet": "off"})


def test_an_empty_value_is_the_default_again() -> None:
    """And no other setting is touched by it."""
    raw = change({}, ["digest=5", "pace=0.2"], LEGS)
    raw = change(raw, ["digest="], LEGS)
    assert read(raw)[0].digest == DEFAULTS.digest
    assert read(raw)[0].pace == Pace(0.2, 1)


@pytest.mark.parametrize(
    ("pair", "said"),
    [
        ("legs=telnet", "no leg 'telnet'"),
        ("legs=claude,claude", "no list of legs"),
        ("legs=,", "no list of legs"),
        ("pace=fast", "no pace"),
        ("pace=1", "1 turns a second"),
        ("pace=nan", "nan turns a second"),
        ("pace=0", "0 turns a second"),
        ("pace=0.1/0", "burst of 0"),
        ("pace=0.1/21", "burst of 21"),
        ("quiet=22-07", "no window"),
        ("quiet=25:00-07:00", "no time of a day"),
        ("quiet=07:00-07:00", "no length"),
        ("quiet=22:00-07:00@Europe", "no time zone 'Europe'"),
        ("quiet=22:00-07:00@../../etc/passwd", "no time zone"),
        ("digest=0", "not from 1"),
        ("digest=many", "no number"),
        ("digest=99999999999", "no number"),
        ("colour=red", "no setting 'colour'"),
        ("digest", "no key=value"),
    ],
)
def test_a_value_that_cannot_be_is_refused_with_what_is_wrong(
    pair: str, said: str
) -> None:
    """One line each, before anything is kept; nothing of the same call is."""
    with pytest.raises(Usage, match=said) as refused:
        change({}, ["digest=3", pair], LEGS)
    assert refused.value.hint


def test_a_misspelt_key_is_answered_with_the_nearest() -> None:
    """The control: a right one is taken."""
    with pytest.raises(Usage) as refused:
        change({}, ["digset=3"], LEGS)
    assert refused.value.hint == "did you mean digest?"
    assert change({}, ["digest=3"], LEGS) == {"digest": "3"}


def test_a_damaged_value_in_the_file_costs_that_setting_only() -> None:
    """A hand that edits the file, or an earlier homi, must not stop the mail."""
    raw: dict[str, object] = {"digest": ["x"], "pace": "0.1", "later": 1}
    settings, faults = read(raw)
    assert settings.pace == Pace(0.1, 1)
    assert settings.digest == DEFAULTS.digest
    assert len(faults) == 1
    assert "digest" in faults[0]
    assert [one.own for one in show_all(raw, LEGS, "")] == [False, True, False, False]
    assert change(raw, ["pace="], LEGS)["later"] == 1
