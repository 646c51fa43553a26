"""From the outside world to a Problem."""
