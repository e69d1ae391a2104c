"""Whether texts say the same again: equal, nearly equal, or only longer.  Pure.

Owns the measures and the length of text they look at; what follows from them is the
budget's.  homi-limits(7) states them.
"""

import unicodedata
from hashlib import blake2b
from typing import NamedTuple

READ = 32_768  # characters of a text that are made alike: linear, and bounded
KEPT = 8_192  # of those the characters that are compared run by run
WORDS = 5  # in a row: what two texts share or not
NEAR = 0.90
GROWN = 2.0  # times as long as the one before
GROWN_FROM = 4_096  # characters: what is shorter grew for good reason


class Likeness(NamedTuple):
    """What is kept of a text to compare later ones with."""

    mark: str  # equal where the texts are, case and space aside
    size: int  # characters of the whole text
    text: str = ""  # normalised, its beginning; empty: it is not kept any more


def of(text: str) -> Likeness:
    """What to compare text by."""
    head = unicodedata.normalize("NFKC", text[:READ]).casefold()
    plain = " ".join(head.split())
    mark = blake2b(plain.encode("utf-8", "replace"), digest_size=8)
    if len(text) > READ:  # all of it counts for what is equal
        mark.update(text[READ:].encode("utf-8", "replace"))
    return Likeness(mark.hexdigest(), len(text), plain[:KEPT])


def near(one: Likeness, other: Likeness) -> bool:
    """Whether nine in ten of all runs of five words are in both."""
    if one.mark == other.mark:
        return True
    if not (one.text and other.text):
        return False
    if min(one.size, other.size) < NEAR * max(one.size, other.size):
        return False
    return jaccard(_runs(one.text), _runs(other.text)) >= NEAR


def grown(older: int, newer: int) -> bool:
    """Whether a text of newer characters is the older one blown up."""
    return older > 0 and newer >= GROWN * older


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """How much two sets have in common: 0 nothing, 1 all."""
    both = len(one & other)
    return both / (len(one) + len(other) - both) if one or other else 1.0


def _runs(text: str) -> frozenset[str]:
    """Every run of five words; of a shorter text the text itself."""
    words = text.split(" ")
    last = max(len(words) - WORDS + 1, 1)
    return frozenset(" ".join(words[at : at + WORDS]) for at in range(last))
