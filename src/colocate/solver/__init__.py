"""How placements are found: blocks, the strategies built from them, and the plan they return."""
