"""Answers as they are shown where a reader must tell them from each other, or from
what a terminal acts on.  homi-ask(1).
"""

import sys

from homi.visible import visible, visible_lines


def shown(text: str) -> int:
    """One answer on a terminal."""
    print("\n".join(visible_lines(text)), flush=True)
    return 0


def named(name: str, text: str) -> int:
    """One answer of several: who gave it, then its lines behind two spaces, so that
    nothing in it looks like the next."""
    lines = [f"{visible(name)}:", *(f"  {line}" for line in visible_lines(text)), ""]
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()
    return 0
