"""Print the `homi` script of `make install`: the real interpreter, one folder."""

import os
import sys

BASE = os.path.realpath(getattr(sys, "_base_executable", sys.executable))

if __name__ == "__main__":
    print(f"""#!{BASE}
import sys

sys.path.insert(0, {sys.argv[1]!r})
from homi.cli.fast import main

sys.exit(main())""")
