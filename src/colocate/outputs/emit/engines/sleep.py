"""How an engine that runs makes room for others, and comes back."""

from collections.abc import Sequence

from colocate.outputs.emit.engines.weight_formats import has_argument
from colocate.outputs.emit.settings import Engine

SWITCHES = {
    Engine.VLLM: ("enable-sleep-mode",),
    Engine.SGLANG: ("enable-memory-saver", "enable-weights-cpu-backup"),
}
"""The options that let an engine sleep. SGLang forgets its weights without the second one."""
VARIABLES = {Engine.VLLM: {"VLLM_SERVER_DEV_MODE": "1"}, Engine.SGLANG: {}}
"""The environment without which vLLM has no addresses to put it to sleep."""
PATHS = {
    Engine.VLLM: {
        "sleep": "/sleep?level=1",
        "wake_up": "/wake_up",
        "is_asleep": "/is_sleeping",
    },
    Engine.SGLANG: {
        "sleep": "/release_memory_occupation",
        "wake_up": "/resume_memory_occupation",
    },
}
"""What to POST, and for `is_asleep` to GET."""


def switches(args: Sequence[str], engine: Engine) -> list[str]:
    """Return the options that let an engine sleep, less those that the user gave."""
    return [name for name in SWITCHES[engine] if not has_argument(args, f"--{name}")]


def sleep_urls(engine: Engine, url: str) -> dict[str, str]:
    """Return what puts an engine at an address to sleep and wakes it up."""
    return {name: f"{url}{path}" for name, path in PATHS[engine].items()}
