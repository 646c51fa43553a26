"""The search for placements that are good and close to the one that runs."""
