"""Why models do not fit, and what would help."""
