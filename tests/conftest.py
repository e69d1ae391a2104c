"""For every test: bytecode is kept, a slow draw is no failure, seeds are shown."""

import os
import sys

import pytest
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


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Which seeds the random tests took, of those that passed too."""
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            for line in report.capstdout.splitlines():
                if "SEED=" in line:
                    terminalreporter.write_line(f"{line}  {report.nodeid}")
