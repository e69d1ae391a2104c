"""Texts that say the same again."""

import unicodedata

from homi import likeness


def test_case_space_and_width_make_no_other_text() -> None:
    one = likeness.of("You are  RIGHT\n")
    wide = "".join(
        unicodedata.lookup(f"FULLWIDTH LATIN CAPITAL LETTER {c}") if c.isalpha() else c
        for c in "YOU ARE RIGHT"
    )
    assert one.mark == likeness.of("you are right").mark == likeness.of(wide).mark
    assert one.mark != likeness.of("you are wrong").mark


def test_all_of_a_long_text_counts_for_what_is_equal() -> None:
    long = "x " * likeness.READ
    assert likeness.of(long + "a").mark != likeness.of(long + "b").mark


def test_near_is_nine_tenths_of_the_runs_and_of_the_length() -> None:
    words = [f"w{n}" for n in range(120)]
    base = likeness.of(" ".join(words))
    assert likeness.near(base, likeness.of(" ".join([*words[:60], "x", *words[61:]])))
    assert not likeness.near(base, likeness.of(" ".join(reversed(words))))
    assert not likeness.near(base, likeness.of(" ".join(words[:90])))
    assert not likeness.near(base, base._replace(mark="", text=""))


def test_half_a_character_is_text_too() -> None:
    assert likeness.of("\ud800") != likeness.of("x")


def test_nothing_grows_out_of_nothing() -> None:
    assert likeness.grown(10, 20)
    assert not likeness.grown(10, 19)
    assert not likeness.grown(0, 5)


def test_two_empty_sets_are_the_same() -> None:
    assert likeness.jaccard(frozenset(), frozenset()) == 1.0
    assert likeness.jaccard(frozenset("ab"), frozenset("bc")) == 1 / 3
