"""What runs inside the walls, beside the program: standard library only, and nothing of colocate.

The parent starts `serve` in a sandbox of its own. It forks once for every case and never runs a
line of the program itself, so that no case can leave anything behind for the next one.
"""
