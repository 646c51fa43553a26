"""The text in which engines and exporters print metrics, for Prometheus to read.

Only samples of vLLM and SGLang are kept, with their names and the labels that matter here.
"""

import re
from collections.abc import Iterator
from math import isfinite
from typing import NamedTuple

LARGEST_TEXT = 32 * 1024 * 1024
"""Bytes: an engine prints some hundred kilobytes, an exporter of many engines some megabytes."""
ENGINES = ("vllm:", "sglang:")
LINE = re.compile(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})?[ \t]+(\S+)")
LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"')


class MetricSample(NamedTuple):
    """One number that an engine counts."""

    name: str
    """With the engine before it, such as `vllm:prompt_tokens_total`."""
    model: str
    """As the engine calls it; empty if it does not say."""
    mode: str
    """What a pass of SGLang is for; empty for everything else."""
    value: float


def metric_samples(text: str) -> Iterator[MetricSample]:
    """Yield the samples of engines in a text; lines that are none are left out."""
    for line in text.splitlines():
        if not line.startswith(ENGINES):
            continue
        match = LINE.match(line)
        if match is None:
            continue
        try:
            value = float(match[3])
        except ValueError:
            continue
        if isfinite(value):
            labels = dict(LABEL.findall(match[2] or ""))
            yield MetricSample(
                match[1], labels.get("model_name", ""), labels.get("mode", ""), value
            )
