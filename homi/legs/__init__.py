"""Ways to hand an envelope to a session."""
