"""Making two devices known to each other, by the user's own ssh."""
