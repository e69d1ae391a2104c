"""Names whose mail is given to a command, one run a letter.  homi-command(1)."""
