"""What a mix of GPUs is chosen by."""

from enum import StrEnum


class By(StrEnum):
    """What is to be as low as possible."""

    GPUS = "gpus"
    """The number of GPUs."""
    PRICE = "price"
