"""Where submissions come in."""
