"""How good our own strategies are on suites."""
