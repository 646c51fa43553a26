"""Blocks that make a placement from nothing."""
