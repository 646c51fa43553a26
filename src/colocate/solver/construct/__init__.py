"""Ways to build a placement from nothing."""
