"""Files that start a plan: one module a target, and what the targets share."""
