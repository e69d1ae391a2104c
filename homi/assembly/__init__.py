"""The duties of a daemon beside the courier's, each joined to what it concerns."""
