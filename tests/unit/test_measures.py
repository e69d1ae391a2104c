"""What Prometheus is given."""

from homi.measures import Sample, exposition


def test_families_stand_together_with_their_kinds() -> None:
    """Whatever the order they were measured in."""
    samples = [
        Sample("homi_pending", 2, {"name": "ada"}),
        Sample("homi_stored_total", 7),
        Sample("homi_pending", 0.5, {"name": "bob"}),
    ]
    assert list(exposition(samples)) == [
        "# HELP homi_stored_total Messages stored since it started.",
        "# TYPE homi_stored_total counter",
        "homi_stored_total 7",
        "# HELP homi_pending Messages that wait, by name.",
        "# TYPE homi_pending gauge",
        'homi_pending{name="ada"} 2',
        'homi_pending{name="bob"} 0.5',
    ]


def test_a_label_of_others_ends_no_line() -> None:
    """A session says of itself what it likes."""
    sample = Sample("homi_sessions", 1, {"status": 'a"b\\c\nd\x1b[2J\r'})
    assert list(exposition([sample]))[-1] == (
        'homi_sessions{status="a\\"b\\\\c\\nd\\\\x1b[2J\\\\r"} 1'
    )
