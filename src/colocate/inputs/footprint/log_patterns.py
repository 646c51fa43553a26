"""The lines of start logs that tell what an engine holds.

They are those of vLLM 0.5 to 0.28 and SGLang 0.3 to 0.5, as their sources print them. Both count in
GiB; SGLang, and vLLM up to 0.7, call it GB. Workers put their names in front of a line, and say the
same things one after the other.
"""

import re
from typing import NamedTuple

_SIZE = r"-?\d{1,7}(?:\.\d{1,9})?"
_COUNT = r"\d(?:,?\d){0,12}"
_NAME = r"[^']{1,300}"


class LineShape(NamedTuple):
    """One kind of line.

    Parameters
    ----------
    mark
        A text that all such lines have, to find them quickly.
    pattern
        What finds the values, each by the name of a fact.
    """

    mark: str
    pattern: re.Pattern[str]


def _line(mark: str, pattern: str) -> LineShape:
    filled = pattern.replace("SIZE", _SIZE).replace("COUNT", _COUNT).replace("NAME", _NAME)
    return LineShape(mark, re.compile(filled))


STARTS = (
    "vLLM API server version",
    "LLM engine (v",
    "server_args=ServerArgs(",
)
"""Where the log of a start begins; an engine that was started again has several."""

VLLM = (
    _line("Model loading took", r"Model loading took (?P<weights>SIZE) GiB"),
    _line("Loading model weights took", r"Loading model weights took (?P<weights>SIZE) Gi?B"),
    _line(
        "model weights take",
        r"model weights take (?P<weights>SIZE)GiB; non_torch_memory takes (?P<libraries>SIZE)GiB; "
        r"PyTorch activation peak memory takes (?P<activations>SIZE)GiB; the rest of the memory "
        r"reserved for KV Cache is (?P<cache>SIZE)GiB",
    ),
    _line(
        "Total non KV cache memory",
        r"Total non KV cache memory: (?P<besides>SIZE) ?GiB; "
        r"torch peak memory increase: (?P<activations>SIZE) ?GiB; "
        r"non-torch forward increase memory: (?P<libraries>SIZE) ?GiB",
    ),
    _line("Total non KV cache memory", r"Total non KV cache memory: (?P<besides>SIZE) ?GiB"),
    _line(
        "Actual usage is",
        r"Actual usage is (?P<weights>SIZE) GiB for weight, (?P<activations>SIZE) GiB for peak "
        r"activation, (?P<libraries>SIZE) GiB for non-torch memory, and (?P<graphs>SIZE) GiB for",
    ),
    _line(
        "consumed memory (weights + non-torch)",
        r"Actual usage is (?P<consumed>SIZE) GiB for consumed memory \(weights \+ non-torch\), "
        r"(?P<run>SIZE) GiB for peak activation, and (?P<graphs>SIZE) GiB for",
    ),
    _line(
        "Desired GPU memory utilization",
        r"Desired GPU memory utilization is \((?P<utilization>SIZE), (?P<requested>SIZE) GiB\)",
    ),
    _line(
        "x gpu_memory_utilization",
        r"x gpu_memory_utilization \((?P<utilization>SIZE)\) = (?P<requested>SIZE)GiB",
    ),
    _line("Available KV cache memory", r"Available KV cache memory: (?P<cache>SIZE) GiB"),
    _line(
        "as specified by kv_cache_memory_bytes",
        r"reserved (?P<cache>SIZE) GiB memory for KV Cache as (?P<unprofiled>specified)",
    ),
    _line("GPU KV cache size", r"GPU KV cache size: (?P<tokens>COUNT) tokens"),
    _line("blocks: ", r"# (?:GPU|CUDA) blocks: (?P<blocks>COUNT)"),
    _line(
        "Maximum concurrency for",
        r"Maximum concurrency for (?P<length>COUNT) tokens per request: (?P<times>SIZE)x",
    ),
    _line("Graph capturing finished", r"took (?P<graphs>SIZE) GiB"),
    _line(
        "CUDA graph pool memory",
        r"CUDA graph pool memory: SIZE GiB \(actual\), (?P<estimated>SIZE) GiB \(estimated\)",
    ),
    _line("CUDA graph memory profiling is enabled", r"profiling is (?P<foreseen>enabled)"),
)

SGLANG = (
    _line("Load weight begin", r"Load weight begin\. avail mem=(?P<before>SIZE) GB"),
    _line(
        "Load weight end",
        r"Load weight end\. .{0,300}?avail mem=(?P<after>SIZE) GB"
        r"(?:, mem usage=(?P<weights>SIZE))?",
    ),
    _line(
        "KV Cache is allocated",
        r"KV Cache is allocated\. (?:dtype: \S{1,40}, )?#tokens: (?P<pool>COUNT), "
        r"K size: (?P<keys>SIZE) GB, V size: (?P<values>SIZE) GB",
    ),
    _line(
        "KV Cache is allocated",
        r"KV Cache is allocated\. (?:dtype: \S{1,40}, )?#tokens: (?P<pool>COUNT), "
        r"KV size: (?P<cache>SIZE) GB",
    ),
    _line("Memory pool end", r"Memory pool end\. avail mem=(?P<left>SIZE) GB"),
    _line("graph end.", r"graph end\. .{0,200}?avail mem=(?P<left>SIZE) GB"),
    _line("liding window memory pool", r"(?P<windowed>window) memory pool"),
    _line("Mamba Cache is allocated", r"(?P<windowed>Mamba) Cache"),
    _line(
        "max_total_num_tokens=",
        r"max_total_num_tokens=(?P<tokens>COUNT), .{0,200}?context_len=(?P<length>COUNT)"
        r"(?:, available_gpu_mem=(?P<left>SIZE) GB)?",
    ),
)

ARGUMENTS = (
    _line("served_model_name", r"served_model_name'?[=:] ?\[?'(?P<served>NAME)'"),
    _line("served_model_name", r"served_model_name=(?P<served>[^\s',\[\]]{1,300})"),
    _line("model", r"(?:[ ({]model=|'model': |model_path=)'(?P<model>NAME)'"),
    _line("parallel_size", r"tensor_parallel_size'?[=:] ?(?P<shards>\d{1,4})"),
    _line("tp_size", r"\btp_size=(?P<shards>\d{1,4})"),
    _line("parallel_size", r"pipeline_parallel_size'?[=:] ?(?P<stages>\d{1,4})"),
    _line("pp_size", r"\bpp_size=(?P<stages>\d{1,4})"),
    _line("gpu_memory_utilization", r"gpu_memory_utilization'?[=:] ?(?P<stated>SIZE)"),
    _line("block_size", r"block_size'?[=:] ?(?P<block>\d{1,6})"),
    _line("engine (v", r"engine \(v(?P<version>\d{1,3}\.\d{1,3})"),
)
ARGUMENT_LINES = ("non-default args", "args: Namespace(", "LLM engine (v", "ServerArgs(")
"""Lines that list the arguments of an engine."""
