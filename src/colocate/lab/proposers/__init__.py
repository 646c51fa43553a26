"""The proposers of changes to programs."""
