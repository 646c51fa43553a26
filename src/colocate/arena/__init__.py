"""Judging: suites of problems, and how well strategies and programs solve them."""
