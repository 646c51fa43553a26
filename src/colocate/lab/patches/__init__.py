"""Answers with patches: how they are read, matched, applied and written."""
