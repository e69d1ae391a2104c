"""Names that move from device to device with all that is theirs.  homi-move(1)."""
