"""The steps from one placement to another, safe at every moment."""
