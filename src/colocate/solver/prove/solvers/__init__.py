"""What CP-SAT and SCIP, asked in programs of their own, say about a problem at a target."""
