"""Telling an agent's client of homi, in the client's own files.  homi-setup(1).

What others wrote there stays, byte for byte; all of it can be taken back.
"""
