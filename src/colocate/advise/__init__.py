"""Advice about a fleet, found by solving variations of it."""
