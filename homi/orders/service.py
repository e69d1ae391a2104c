"""What a caller may ask of the daemon as a program.

homi-protocol(7) lists them.
"""

from homi.request import CallerClass, Request


class Restart(Request, frozen=True, tag="restart"):
    """Become the homi that is installed now, with every socket kept."""

    callers = frozenset({CallerClass.PERSON, CallerClass.SERVICE})


class Metrics(Request, frozen=True, tag="metrics"):
    """What is counted and measured of the daemon."""

    looks = True
