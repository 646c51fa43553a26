"""From the placement that runs to a better one: what moves, whether it pays, and in which steps."""
