"""Terminal panes that homi drives.  homi-seat(1)."""
