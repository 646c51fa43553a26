"""What can be said about a fleet by solving variations of it."""
