"""The drain of each name's mail through the legs to the session that owns it."""
