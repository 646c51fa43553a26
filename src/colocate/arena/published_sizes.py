"""The sizes of published models."""

import numpy as np
from numpy.random import RandomState

from colocate.problem.instance import Floats

REAL_SIZES_GB = {
    "Llama-3.2-1B": 2.5,
    "gemma-2-2b": 5.2,
    "Llama-3.2-3B": 6.4,
    "Qwen2.5-7B": 15.2,
    "Mistral-7B-v0.3": 14.5,
    "Llama-3.1-8B": 16.1,
    "gemma-2-9b": 18.5,
    "Mistral-Nemo-12B": 24.5,
    "Qwen2.5-14B": 29.5,
    "Mistral-Small-24B": 47.1,
    "gemma-2-27b": 54.5,
    "Qwen2.5-32B": 65.5,
    "Llama-3.1-70B-fp8": 70.6,
}
"""Weights in GB of published models: parameters times two bytes (one for fp8)."""


def draw_sizes(draw: RandomState, count: int) -> Floats:
    """Draw sizes of published models; small ones are common."""
    sizes = np.array(list(REAL_SIZES_GB.values()))
    small_is_common = (1 / sizes) / (1 / sizes).sum()
    drawn: Floats = draw.choice(sizes, count, p=small_is_common)
    return drawn
