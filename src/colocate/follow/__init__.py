"""Follows demand: reads it, replans where that pays, and carries steps out; survives any fault."""
