"""What the search for a mix of GPUs minimises."""

from enum import StrEnum


class By(StrEnum):
    """What is to be as low as possible."""

    GPUS = "gpus"
    """The number of GPUs."""
    PRICE = "price"
