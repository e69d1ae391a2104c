"""What is durable: journals, the ring that commits them, mailboxes, state files."""
