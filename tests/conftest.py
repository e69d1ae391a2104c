"""For every test: what is compiled is kept, and a slow draw is no failure."""

import os
import sys

from hypothesis import HealthCheck, settings

# The suite starts homi some thousand times.  Where bytecode is kept nowhere, each
# of these processes compiles all of homi anew, which is half of its start.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# On a machine that others load, too.
settings.register_profile(
    "homi", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("homi")
