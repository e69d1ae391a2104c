"""Two connections of one pair of devices: which of them carries the mail.

Pure, and the same on both ends.  homi-protocol(7) states the rule.
"""

from typing import NamedTuple

from homi.links import keys


class Standing(NamedTuple):
    """What the rule looks at in an exchange that is proven."""

    dialled: bool  # by this end
    ours: str  # public key
    theirs: str

    @property
    def dialler(self) -> bytes:
        """The key of the end that opened it."""
        return keys.blob(self.ours if self.dialled else self.theirs) or b""


def keep_newer(older: Standing, newer: Standing) -> bool:
    """Whether the connection proven later stays, and the other is superseded.

    Of one dialler the later stays: it dials again only when it lost the other.  Of
    two dialled crosswise that of the smaller key, which both ends see alike.
    """
    return newer.dialler <= older.dialler
