"""Failures a caller may handle: one class per sysexits status, each with a hint.

Owns the table of exit statuses and of the codes that stand for them on the
wire.  Knows nothing of how a failure is shown.  homi(1) lists the statuses.
"""

import os

LISTED = 10  # ambiguous ids named in one error
RESTART = "restart"  # the reason of what is left to the next homi, undone


class HomiError(Exception):
    """A failure with a status of its own; the text is one line in lower case."""

    code = "bug"
    exit_status = os.EX_SOFTWARE

    def __init__(self, text: str, *, hint: str = "", reason: str = "") -> None:
        """Keep the line for people, the fix, and the machine-readable reason."""
        super().__init__(text)
        self.text = text
        self.hint = hint
        self.reason = reason


class Unhealthy(HomiError):
    """A check that ran and found something wrong (1)."""

    code = "unhealthy"
    exit_status = 1


class Failing(HomiError):
    """A check that ran and found what keeps mail from going (2)."""

    code = "failing"
    exit_status = 2


class Usage(HomiError):
    """The command line cannot be understood (64)."""

    code = "usage"
    exit_status = os.EX_USAGE


class BadMessage(HomiError):
    """A message that breaks a rule of homi-protocol(7) (65)."""

    code = "bad-message"
    exit_status = os.EX_DATAERR


class NoInput(HomiError):
    """A file or a message to read is not there (66)."""

    code = "no-input"
    exit_status = os.EX_NOINPUT


class NoSuchName(HomiError):
    """A name nobody claimed on this device (67)."""

    code = "no-such-name"
    exit_status = os.EX_NOUSER


class NoSuchDevice(HomiError):
    """A device this one has no link to (68)."""

    code = "no-such-device"
    exit_status = os.EX_NOHOST


class Unavailable(HomiError):
    """The daemon or a tool it needs does not answer (69)."""

    code = "unavailable"
    exit_status = os.EX_UNAVAILABLE


class Bug(HomiError):
    """Something homi itself did wrong (70)."""

    code = "bug"
    exit_status = os.EX_SOFTWARE


class CannotCreate(HomiError):
    """A file, socket or lock that cannot be made (73)."""

    code = "cannot-create"
    exit_status = os.EX_CANTCREAT


class StorageFailed(HomiError):
    """The disk did not take it: not known to be stored; the same id is safe (74)."""

    code = "io"
    exit_status = os.EX_IOERR


class NotReached(HomiError):
    """Refused for now, or stored but the rung asked for was not reached (75)."""

    code = "not-reached"
    exit_status = os.EX_TEMPFAIL


class VersionMismatch(HomiError):
    """Two programs or files that speak different versions (76)."""

    code = "version"
    exit_status = os.EX_PROTOCOL


class NotAllowed(HomiError):
    """A verb or a sender this caller may not use (77)."""

    code = "not-allowed"
    exit_status = os.EX_NOPERM


class BadConfig(HomiError):
    """A setting or a folder homi refuses to work with (78)."""

    code = "config"
    exit_status = os.EX_CONFIG


class TimedOut(HomiError):
    """A wait that ended with nothing wrong (124, as timeout(1) has it)."""

    code = "timed-out"
    exit_status = 124


class Interrupted(HomiError):
    """Ended by the person (130, as a shell counts SIGINT)."""

    code = "interrupted"
    exit_status = 130


BY_CODE: dict[str, type[HomiError]] = {
    kind.code: kind
    for kind in (
        Unhealthy,
        Failing,
        Usage,
        BadMessage,
        NoInput,
        NoSuchName,
        NoSuchDevice,
        Unavailable,
        Bug,
        CannotCreate,
        StorageFailed,
        NotReached,
        VersionMismatch,
        NotAllowed,
        BadConfig,
        TimedOut,
        Interrupted,
    )
}


def ambiguous(wanted: str, *ids: str) -> Usage:
    """What is said of the start of several ids; the first LISTED are named."""
    more = f" and {len(ids) - LISTED} more" if len(ids) > LISTED else ""
    return Usage(
        f"{wanted} is the start of {len(ids)} ids",
        hint=f"one of {', '.join(ids[:LISTED])}{more}",
    )


def not_linked(device: str, hint: str, near: str | None = None) -> NoSuchDevice:
    """What is said of a device nobody linked; near is the hint where there is one."""
    return NoSuchDevice(
        f"no device {device} is linked here",
        hint=f"did you mean {near}?" if near else hint,
    )


def from_wire(code: str, text: str, hint: str = "", reason: str = "") -> HomiError:
    """The error a daemon named by its code; an unknown code is our bug (70)."""
    return BY_CODE.get(code, Bug)(text, hint=hint, reason=reason)
