"""The showing of this device's card.  homi-link(1).

A module of its own: what it imports is slow to load, and needed by nothing else.
"""

import msgspec

from homi import paths
from homi.cli import output
from homi.pairing.card import own


def show(home: str, as_json: bool) -> int:
    """Print the card of the device; 0."""
    found = own(paths.state_root(home))
    if as_json:
        output.json_line(found)
    else:
        fields = msgspec.structs.asdict(found)
        output.table(("FIELD", "VALUE"), list(fields.items()))
    return 0
