"""The text of programs from outside, which nothing here runs."""
