"""A daemon and two agents of their own, to see that mail goes; homi-selftest(1)."""
