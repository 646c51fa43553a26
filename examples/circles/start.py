"""The program that evolution starts from: equal circles on a square grid."""

from math import ceil, sqrt


# EVOLVE-BLOCK-START
def pack_circles(count):
    """Return the centres and radii of circles in the unit square."""
    rows = ceil(sqrt(count))
    radius = 0.5 / rows
    return [[radius + (n % rows) / rows, radius + (n // rows) / rows, radius] for n in range(count)]


# EVOLVE-BLOCK-END
