"""Blocks that make a placement better."""
