"""Who can be written to, as a tool lists it.

Owns the order and the bound of that list.  Text of others is made visible.
"""

from collections.abc import Sequence
from typing import Any

from homi.far import FarRow
from homi.mcp.result import Result
from homi.reports import Listing
from homi.visible import visible

SHOWN = 200  # names of one answer: a model reads no more, and pays for all


def directory(here: Listing, far: Sequence[FarRow], own: tuple[str, ...]) -> Result:
    """The names of this device, then those of others."""
    rows = [*_here(here), *(row for one in far for row in _far(one))]
    you = ", ".join(own)
    lines = [f"you are {you}@{here.device}" if own else "you have no name here"]
    lines += [f"{row['name']}  {row['state']}{_more(row)}" for row in rows[:SHOWN]]
    if len(rows) > SHOWN:
        lines.append(f"and {len(rows) - SHOWN} more: homi ls lists all")
    silent = {one.device: visible(one.why) for one in far if not one.asked}
    lines += [f"{device} did not answer: {why}" for device, why in silent.items()]
    fields: dict[str, Any] = {
        "you": list(own),
        "device": here.device,
        "names": rows[:SHOWN],
    }
    if len(rows) > SHOWN:
        fields["more"] = len(rows) - SHOWN
    if silent:
        fields["silent"] = silent
    return Result("\n".join(lines), fields)


def _here(here: Listing) -> list[dict[str, Any]]:
    """Names of this device: claimed, of sessions, and those that lead elsewhere."""
    rows = [
        _row(row.name, row.state, row.owner.status if row.owner else "")
        for row in here.names
        if row.name != "postmaster"
    ]
    rows += [
        _row(one.address, "unclaimed", one.status)
        for one in here.sessions
        if one.address
    ]
    rows += [_row(one.name, f"alias of {one.to}") for one in here.aliases]
    rows += [_row(one.name, f"is {one.to}") for one in here.mirrors if one.name]
    return rows


def _far(row: FarRow) -> list[dict[str, Any]]:
    """Names of another device, as it told them."""
    told = "" if row.asked else ", as told last"
    return [
        _row(
            f"{one.name}@{row.device}",
            ("live" if one.live else "held") + told,
            one.status,
        )
        for one in row.names
    ]


def _row(name: str, state: str, status: str = "") -> dict[str, Any]:
    """One that can be written to."""
    row = {"name": name, "state": visible(state)}
    return row | ({"status": visible(status)} if status else {})


def _more(row: dict[str, Any]) -> str:
    """What a session says of itself."""
    return f", {row['status']}" if "status" in row else ""
