"""The homi that runs, as another program can start it.

Owns the finding of its path; homi-pair(1) says who starts it.
"""

import os
import shutil
import sys

from homi.errors import Unavailable


def program() -> str:
    """The absolute path of the homi that runs; Unavailable (69) where it has none."""
    beside = os.path.join(os.path.dirname(sys.executable), "homi")
    for path in (sys.argv[0], beside, shutil.which("homi") or ""):
        if os.path.basename(path) == "homi" and os.access(path, os.X_OK):
            return os.path.abspath(path)
    raise Unavailable("this homi is no command that sshd could run", hint="--exe PATH")
