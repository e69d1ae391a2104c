"""Which steps of a long list every run takes, and which the soak takes beside them."""

from collections.abc import Collection, Iterable

import pytest
from _pytest.mark.structures import ParameterSet


def steps(
    every: Iterable[object], small: Collection[object], ids: Iterable[str] = ()
) -> list[ParameterSet]:
    """Parameters of all of every; those not in small are marked as soak."""
    names = list(ids)
    made = []
    for at, step in enumerate(every):
        values = step if isinstance(step, tuple) else (step,)
        name = names[at] if names else "-".join(str(value) for value in values)
        marks = () if step in small or name in small else (pytest.mark.soak,)
        made.append(pytest.param(*values, id=name, marks=marks))
    return made
