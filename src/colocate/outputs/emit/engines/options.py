"""The options of an engine for one model, by name: the same for shell, YAML and Python."""

from collections.abc import Sequence

from colocate.inputs.format_support import Maker
from colocate.inputs.least_cache import has_no_cache
from colocate.inputs.overheads import most_requests, stated_requests
from colocate.inputs.spec import ModelSpec
from colocate.outputs.emit.engines.launch import Launch
from colocate.outputs.emit.engines.sleep import VARIABLES, switches
from colocate.outputs.emit.engines.weight_formats import (
    ENGINE_DTYPES,
    format_name,
    has_argument,
    made_while_loading,
)
from colocate.outputs.emit.settings import EmitSettings, Engine

Options = dict[str, str | int | float]

COMMANDS = {
    Engine.VLLM: ("vllm", "serve"),
    Engine.SGLANG: ("python3", "-m", "sglang.launch_server"),
}
SHARDS = {Engine.VLLM: "tensor-parallel-size", Engine.SGLANG: "tp-size"}
"""The option that splits a model into shards."""
REQUESTS = {Engine.VLLM: "max-num-seqs", Engine.SGLANG: "max-running-requests"}
"""The option that says how many requests to take at once: the overhead of a model depends on it."""
CONTEXT = {Engine.VLLM: "max-model-len", Engine.SGLANG: "context-length"}
"""The option that limits the length of a request."""
FITTED = -1
"""The context length that lets vLLM take as much as its cache can hold."""
AUTOPATCH = {"ENABLE_KVCACHED": "true", "KVCACHED_AUTOPATCH": "1"}
DRAIN, DRAIN_SECONDS = "shutdown-timeout", 50
"""The option with which vLLM (since 0.18) finishes its requests when it is stopped, and how long it
may take: less than what the files allow until an engine must have ended."""
NO_BALANCE_CHECK = {"SGLANG_ENABLE_TP_MEMORY_INBALANCE_CHECK": "0"}
"""Lets SGLang start where one of its GPUs has less than 90% of the free memory of another."""
WITH_AITER = {"SGLANG_USE_AITER": "1"}
"""What SGLang needs to run mxfp4 on GPUs of AMD."""


def command(launch: Launch, settings: EmitSettings, source: str | None = None) -> list[str]:
    """Return the whole command line of an engine, one argument each.

    Parameters
    ----------
    launch
        What to start.
    settings
        The engine, its address and how it shares memory.
    source
        Where the model is, if not where the plan says.
    """
    start = _start(settings.engine, source or launch.source)
    return [*start, *launch.args, *own_arguments(launch, settings)]


def command_by_hand(spec: ModelSpec, engine: Engine) -> list[str]:
    """Return a command that starts a model wherever there is room for it, and lets it sleep."""
    args = spec.arguments_for(engine.value)
    own = {"served-model-name": spec.name, **_formats(spec, args, engine is Engine.VLLM)}
    if spec.shards > 1:
        own[SHARDS[engine]] = spec.shards
    words = [*arguments(own), *(f"--{name}" for name in switches(args, engine))]
    variables = [f"{name}={value}" for name, value in VARIABLES[engine].items()]
    start = ["env", *variables] if variables else []
    return [*start, *_start(engine, spec.source or spec.name), *args, *words]


def arguments(options: Options) -> list[str]:
    """Return options as words of a command; no value can pass for an option."""
    return [f"--{name}={value}" for name, value in options.items()]


def _start(engine: Engine, source: str) -> list[str]:
    """Return the program, and what it loads."""
    return [*COMMANDS[engine], source if engine is Engine.VLLM else f"--model-path={source}"]


def own_arguments(launch: Launch, settings: EmitSettings) -> list[str]:
    """Return the options that the plan decides on."""
    own: Options = {
        "served-model-name": launch.model,
        "host": settings.host,
        "port": launch.port,
        **engine_options(launch, settings),
    }
    return [*arguments(own), *drain_arguments(launch, settings), *sleep_arguments(launch, settings)]


def drain_arguments(launch: Launch, settings: EmitSettings) -> list[str]:
    """Return the option that lets vLLM finish its requests when it is stopped, under MPS.

    SGLang does so by itself. The versions of vLLM that kvcached patches may not know it.
    """
    of_vllm = settings.engine is Engine.VLLM and not settings.elastic
    wanted = settings.mps and launch.crowded and of_vllm
    if not wanted or has_argument(launch.args, f"--{DRAIN}"):
        return []
    return arguments({DRAIN: DRAIN_SECONDS})


def sleep_arguments(launch: Launch, settings: EmitSettings) -> list[str]:
    """Return the options that let an engine sleep, none where its model may not."""
    if not launch.can_sleep:
        return []
    return [f"--{name}" for name in switches(launch.args, settings.engine)]


def engine_options(launch: Launch, settings: EmitSettings) -> Options:
    """Return the options of an engine for shards, formats and memory."""
    of_vllm = settings.engine is Engine.VLLM
    options = _formats(launch.spec, launch.args, of_vllm, bool(launch.kinds_without_bf16))
    if len(launch.gpus) > 1:
        options[SHARDS[settings.engine]] = len(launch.gpus)
    if stated_requests(launch.args) is None:
        options[REQUESTS[settings.engine]] = most_requests(launch.spec.min_concurrency)
    if (context := _context(launch, settings)) is not None:
        options[CONTEXT[settings.engine]] = context
    if settings.elastic:
        return options
    if not of_vllm:
        return options | {"mem-fraction-static": launch.share.static_fraction}
    options["gpu-memory-utilization"] = launch.share.utilization
    if has_no_cache(launch.spec):
        return options
    return options | {"kv-cache-memory-bytes": launch.share.cache_bytes}


def _context(launch: Launch, settings: EmitSettings) -> int | None:
    """Return the longest request that an engine takes; None leaves it to the engine.

    Where nobody states it, vLLM takes what its cache holds. SGLang and engines under kvcached do
    not, so they get the length that the plan has room for.
    """
    stated = launch.spec.max_model_len
    if stated is not None or has_no_cache(launch.spec):
        return stated
    if settings.engine is Engine.VLLM and not settings.elastic:
        return FITTED
    return launch.context


def environment(launch: Launch, settings: EmitSettings) -> dict[str, str]:
    """Return the environment of an engine, less what pins it to its GPUs."""
    return {**kvcached_environment(launch, settings), **engine_environment(launch, settings)}


def kvcached_environment(launch: Launch, settings: EmitSettings) -> dict[str, str]:
    """Return the environment that kvcached needs; none without it."""
    if not settings.elastic:
        return {}
    return {
        **AUTOPATCH,
        "KVCACHED_IPC_NAME": launch.name,
        "KVCACHED_GPU_UTILIZATION": f"{launch.kvcached_utilization:g}",
    }


def engine_environment(launch: Launch, settings: EmitSettings) -> dict[str, str]:
    """Return the environment that an engine itself needs: to sleep, or to start at all."""
    asleep = VARIABLES[settings.engine] if launch.can_sleep else {}
    if settings.engine is Engine.VLLM:
        return dict(asleep)
    unchecked = NO_BALANCE_CHECK if launch.uneven else {}
    needed = launch.maker is Maker.AMD and format_name(launch.spec.dtype) == "mxfp4"
    return {**asleep, **unchecked, **(WITH_AITER if needed else {})}


def device_environment(launch: Launch) -> dict[str, str]:
    """Return what pins an engine to its GPUs, by the numbers that nvidia-smi or rocm-smi shows."""
    numbers = ",".join(map(str, launch.devices))
    if launch.maker is Maker.AMD:
        return {"HIP_VISIBLE_DEVICES": numbers}
    return {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": numbers}


def _formats(
    spec: ModelSpec, args: Sequence[str], of_vllm: bool, without_bf16: bool = False
) -> Options:
    """Return formats that an engine cannot see in the model itself.

    Weights that are quantised on disk say so in their config; those that are only quantised when
    they are loaded have to be asked for. Where there is no bf16, which most models are in, even
    what is not quantised of a model has to be in float16.
    """
    options: Options = {}
    dtype = ENGINE_DTYPES.get(format_name(spec.dtype))
    if without_bf16 and dtype in (None, "bfloat16"):
        dtype = "float16"
    if dtype and not has_argument(args, "--dtype"):
        options["dtype"] = dtype
    if quantisation := made_while_loading(spec, args):
        options["quantization"] = quantisation
    kv_dtype = (spec.kv_dtype or "").lower()
    if kv_dtype.startswith(("fp8", "float8")) and not has_argument(args, "--kv-cache-dtype"):
        options["kv-cache-dtype"] = "fp8" if of_vllm else "fp8_e4m3"
    return options
