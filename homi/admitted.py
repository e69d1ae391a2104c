"""What is told of messages that were let in: imported ones, and refused ones.

Owns the fields of these answers, which only grow.  homi-protocol(7) is the page.
"""

import msgspec


class ReadmittedRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of one entry of the quarantine; with a code it is there still."""

    id: str
    message: str = ""  # the id under which it is stored
    to: str = ""  # the mailbox it is in now
    duplicate: bool = False  # it was in there before
    code: str = ""  # of homi.errors
    error: str = ""
    hint: str = ""


class Readmitted(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answer to quarantine: a row for each id, in their order."""

    rows: list[ReadmittedRow]


class ImportedRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of one message of an import; with a code it is not stored."""

    id: str = ""
    seq: int = 0
    duplicate: bool = False  # the mailbox had it before
    code: str = ""  # of homi.errors
    error: str = ""
    hint: str = ""


class Imported(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answer to import: a row for each letter, in their order."""

    name: str
    rows: list[ImportedRow]
