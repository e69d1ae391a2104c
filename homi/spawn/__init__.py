"""Agents that homi starts for names, and how each is started again.  homi-spawn(1)."""
