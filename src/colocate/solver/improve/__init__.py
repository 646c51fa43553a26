"""Ways to make a placement better."""
