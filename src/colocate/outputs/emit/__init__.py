"""Files that start a plan."""
