"""The agent clients' own session records, sockets and frames, and processes."""
