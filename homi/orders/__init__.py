"""What may be asked of the daemon, by noun; homi.requests lists every verb."""
