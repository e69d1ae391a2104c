"""Codex: the app server of a CODEX_HOME, its threads, and which of them live."""
