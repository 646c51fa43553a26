"""Code that runs inside the walls, beside the program: standard library only, none of colocate.

The parent starts `serve` in its own sandbox. It forks once for every case and never runs a line of
the program itself, so no case can leave anything behind for the next one.
"""
