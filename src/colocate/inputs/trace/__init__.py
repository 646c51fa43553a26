"""Recorded requests, as others write them."""
