"""Lower bounds on the pressure of any placement, with proofs."""
