"""How it is decided: blocks, the strategies composed of them, and the plan they return."""
