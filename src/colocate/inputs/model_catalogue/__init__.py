"""Configs of well-known models, so that a name is enough to size one."""
