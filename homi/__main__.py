"""`python -m homi` is the command homi; so the daemon is started, too."""

from homi.cli.fast import main

if __name__ == "__main__":
    main()
