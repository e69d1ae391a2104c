"""What a caller may ask of the daemon as a program.

homi-protocol(7) lists them.
"""

from homi.request import CallerClass, Request


class Restart(Request, frozen=True, tag="restart"):
    """Become the homi that is installed now, with every socket kept."""

    callers = frozenset({CallerClass.PERSON, CallerClass.SERVICE})
