"""Judges: suites of problems, and how well they are solved."""
