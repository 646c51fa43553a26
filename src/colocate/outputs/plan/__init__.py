"""A plan as a table, as a picture, and as JSON."""
