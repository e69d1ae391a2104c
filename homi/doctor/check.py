"""A check: what it proves, how it looks, and what it found with the fix.

Owns the form of a verdict and of a check, and that one that fails itself keeps no
other from running.  homi-doctor(1) lists the fields.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from homi.doctor.facts import Facts, Unset
from homi.errors import Failing, HomiError, Unhealthy
from homi.store.whole import remedy


class Grade(StrEnum):
    """How bad a thing is."""

    OK = "OK"
    SKIP = "SKIP"  # it could not be looked at now
    WARN = "WARN"
    FAIL = "FAIL"


class Verdict(msgspec.Struct, frozen=True):
    """One thing that was found."""

    grade: Grade
    text: str
    # A command that mends it, as it is typed here.  Many type all of them: it ends no
    # program of others, throws nothing away and decides nothing for a person.
    fix: str = ""
    hand: str = ""  # what a person does: before the fix, or where no command does it


class Row(msgspec.Struct, frozen=True, omit_defaults=True):
    """One verdict as it is listed."""

    check: str
    grade: Grade
    text: str
    proves: str
    fix: str = ""
    hand: str = ""
    done: str = ""  # what --fix did about it


Look = Callable[[Facts], Iterable[Verdict]]


class Check(NamedTuple):
    """One thing to look at."""

    name: str
    proves: str
    look: Look  # nothing found: it is well
    well: str = ""  # what is said then; else what it proves
    daemon: bool = False  # it is asked, so that there must be one
    slow: bool = False  # left out of a quick look
    heal: Callable[[Facts], str] | None = None  # what is safe to do; what was done


def warn(text: str, fix: str = "", hand: str = "") -> Verdict:
    """Something that a person should know."""
    return Verdict(Grade.WARN, text, fix, hand)


def fail(text: str, fix: str = "", hand: str = "") -> Verdict:
    """Something that keeps mail from going."""
    return Verdict(Grade.FAIL, text, fix, hand)


def remedied(verdict: Verdict, hint: str) -> Verdict:
    """The same with what another part of homi says of it: a command is the fix, all
    else is done by hand."""
    if _COMMAND.fullmatch(hint):
        return replace(verdict, fix=hint)
    return replace(verdict, hand=hint)


def well(text: str) -> Verdict:
    """Nothing wrong, with the measured fact."""
    return Verdict(Grade.OK, text)


def unread(error: OSError) -> Verdict:
    """What keeps us from a file, and what is typed against that."""
    path = os.fsdecode(error.filename) if error.filename else ""
    what = f"{path or 'a file'}: {error.strerror or error}"
    hint = remedy(path, error) or "mend that, then homi doctor"
    return remedied(fail(f"cannot look: {what}"), hint)


def examine(
    checks: Iterable[Check], facts: Facts, *, quick: bool = False, fix: bool = False
) -> Iterator[Row]:
    """The rows of each check in turn.  fix: what is safe to do is done, and looked at
    again."""
    for check in checks:
        if check.slow and quick:
            continue
        found = _found(check, facts)
        done = ""
        if fix and check.heal and any(one.grade in BAD for one in found):
            done, found = _healed(check, facts, found)
        for one in found:
            said = (_sound(one.text), check.proves, _sound(one.fix), _sound(one.hand))
            yield Row(check.name, one.grade, *said, _sound(done))


# What is a whole command, and no sentence that begins like one.
_COMMAND = re.compile(
    r"(?:chmod|mv) \S+ \S.*|ssh \S+ homi start|gh auth login"
    r"|homi (?:start|restart|pair \S+|(?:claim|link \w+) \S+)"
)
BAD = (Grade.WARN, Grade.FAIL)
NO_DAEMON = "the daemon would be asked"
NO_SETTINGS = "homi.toml cannot be read: see settings"


def status(rows: Iterable[Row]) -> int:
    """0 where all is well, 1 with a warning, 2 with a failure."""
    grades = {row.grade for row in rows}
    if Grade.FAIL in grades:
        return Failing.exit_status
    return Unhealthy.exit_status if Grade.WARN in grades else os.EX_OK


def _found(check: Check, facts: Facts) -> list[Verdict]:
    """What a check says; a failure of its own is one of its verdicts."""
    if check.daemon and facts.daemon is None:
        return [Verdict(Grade.SKIP, NO_DAEMON)]
    found: list[Verdict] = []
    try:
        for one in check.look(facts):
            found.append(one)
        return found or [well(check.well or check.proves)]
    except Unset:
        return [Verdict(Grade.SKIP, NO_SETTINGS)]
    except HomiError as error:
        hint = error.hint or "homi log -n 50 may say more"
        return [*found, remedied(fail(error.text), hint)]
    except OSError as error:
        return [*found, unread(error)]
    except Exception as error:
        # Whatever one check trips over, a person still needs the others.
        what = f"{type(error).__name__}: {error}"
        bug = fail(f"the check itself failed: {what}", hand="tell homi's makers")
        return [*found, bug]


def _sound(text: str) -> str:
    """text as JSON can hold it: half a character, of the name of a file, is escaped."""
    return text.encode("utf-8", "backslashreplace").decode()


def _healed(
    check: Check, facts: Facts, before: list[Verdict]
) -> tuple[str, list[Verdict]]:
    """What was done, and what the check says then."""
    assert check.heal is not None
    try:
        done = check.heal(facts)
    except OSError as error:
        return f"not done: {error.strerror}", before
    return done, _found(check, facts)
