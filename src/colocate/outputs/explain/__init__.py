"""An explanation, and what would help, in sentences and as JSON."""
