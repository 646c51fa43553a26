"""What an engine is told about one model: options by name, the same for shell, YAML and Python."""

import re
from collections.abc import Sequence

from colocate.inputs.spec import ModelSpec
from colocate.outputs.emit.launch import Launch
from colocate.outputs.emit.settings import Engine, Settings

Options = dict[str, str | int | float]

COMMANDS = {
    Engine.VLLM: ("vllm", "serve"),
    Engine.SGLANG: ("python3", "-m", "sglang.launch_server"),
}
SHARDS = {Engine.VLLM: "tensor-parallel-size", Engine.SGLANG: "tp-size"}
"""How the option is called that cuts a model in parts."""
DTYPES = {"bf16": "bfloat16", "bfloat16": "bfloat16", "fp16": "float16", "float16": "float16"}
FITTED = -1
"""As a length of context: whatever the cache can hold."""
SLEEP = {
    Engine.VLLM: "vLLM with --enable-sleep-mode in args and VLLM_SERVER_DEV_MODE=1 around it frees "
    "its GPU on POST /sleep?level=1 and is back on POST /wake_up",
    Engine.SGLANG: "SGLang with --enable-memory-saver in args frees its GPU on POST "
    "/release_memory_occupation and is back on POST /resume_memory_occupation",
}
"""How a running engine makes room for one that sleeps."""
AUTOPATCH = {"ENABLE_KVCACHED": "true", "KVCACHED_AUTOPATCH": "1"}


def command(launch: Launch, settings: Settings, source: str | None = None) -> list[str]:
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
    return [*start, *launch.spec.args, *own_arguments(launch, settings)]


def command_by_hand(spec: ModelSpec, engine: Engine) -> list[str]:
    """Return a command that starts a model wherever there is room for it."""
    shards = [f"--{SHARDS[engine]}={spec.shards}"] if spec.shards > 1 else []
    served = f"--served-model-name={spec.name}"
    return [*_start(engine, spec.source or spec.name), *spec.args, served, *shards]


def _start(engine: Engine, source: str) -> list[str]:
    """Return the program, and what it loads."""
    return [*COMMANDS[engine], source if engine is Engine.VLLM else f"--model-path={source}"]


def own_arguments(launch: Launch, settings: Settings) -> list[str]:
    """Return the options that the plan decides on; a value can never be taken for an option."""
    own: Options = {
        "served-model-name": launch.model,
        "host": settings.host,
        "port": launch.port,
        **engine_options(launch, settings),
    }
    return [f"--{name}={value}" for name, value in own.items()]


def engine_options(launch: Launch, settings: Settings) -> Options:
    """Return what an engine is told about shards, formats and memory."""
    of_vllm = settings.engine is Engine.VLLM
    options = _formats(launch, of_vllm)
    if len(launch.gpus) > 1:
        options[SHARDS[settings.engine]] = len(launch.gpus)
    if settings.elastic:
        return options
    if not of_vllm:
        return options | {"mem-fraction-static": launch.share.static_fraction}
    if not has_argument(launch.spec.args, "--max-model-len"):
        options["max-model-len"] = FITTED
    return options | {
        "gpu-memory-utilization": launch.share.utilization,
        "kv-cache-memory-bytes": launch.share.cache_bytes,
    }


def environment(launch: Launch, settings: Settings) -> dict[str, str]:
    """Return the environment that kvcached needs; none without it."""
    if not settings.elastic:
        return {}
    return {
        **AUTOPATCH,
        "KVCACHED_IPC_NAME": launch.name,
        "KVCACHED_GPU_UTILIZATION": f"{launch.kvcached_utilization:g}",
    }


def device_environment(launch: Launch) -> dict[str, str]:
    """Return what pins an engine to its GPUs, by the numbers that nvidia-smi shows."""
    numbers = ",".join(map(str, launch.devices))
    return {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": numbers}


def has_argument(args: Sequence[str], *flags: str) -> bool:
    """Say whether arguments of the user name one of these options."""
    named = {re.split("[= ]", argument, maxsplit=1)[0].replace("_", "-") for argument in args}
    return not named.isdisjoint(flags)


def _formats(launch: Launch, of_vllm: bool) -> Options:
    """Return formats that an engine cannot see in the model itself.

    Weights that are quantised on disk say so in their config; those that are only quantised when
    they are loaded, fp8 and 4 bits of bitsandbytes, have to be asked for. A name that says fp8 is
    that of weights which are so already.
    """
    options: Options = {}
    dtype, kv_dtype = (launch.spec.dtype or "").lower(), (launch.spec.kv_dtype or "").lower()
    args = launch.spec.args
    if dtype in DTYPES and not has_argument(args, "--dtype"):
        options["dtype"] = DTYPES[dtype]
    if not has_argument(args, "--quantization", "-q"):
        if dtype == "fp8" and "fp8" not in launch.source.lower():
            options["quantization"] = "fp8"
        if dtype in ("nf4", "bnb-4bit"):
            options["quantization"] = "bitsandbytes"
    if kv_dtype.startswith("fp8") and not has_argument(args, "--kv-cache-dtype"):
        options["kv-cache-dtype"] = "fp8" if of_vllm else "fp8_e4m3"
    return options
