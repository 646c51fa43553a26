"""The hot loops of that search."""
