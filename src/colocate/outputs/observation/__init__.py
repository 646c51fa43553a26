"""What was measured of a fleet, for people and programs."""
