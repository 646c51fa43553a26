"""What containers need besides a command: an image, and models that lie on the machine's disk."""

import posixpath
from collections.abc import Sequence

from colocate.errors import InputError
from colocate.fault import Fault, Owner
from colocate.inputs.format_support import Maker
from colocate.outputs.emit.engines.launch import Launch
from colocate.outputs.emit.settings import EmitSettings, Engine

IMAGES = {
    (Engine.VLLM, False): "vllm/vllm-openai:latest",
    (Engine.SGLANG, False): "lmsysorg/sglang:latest",
    (Engine.VLLM, True): "ghcr.io/ovg-project/kvcached-vllm:latest",
    (Engine.SGLANG, True): "ghcr.io/ovg-project/kvcached-sglang:latest",
}
"""By engine, and whether it is patched for kvcached, for NVIDIA."""
AMD_IMAGES = {
    (Engine.VLLM, 2): "vllm/vllm-openai-rocm:latest",
    (Engine.VLLM, 3): "vllm/vllm-openai-rocm:latest",
    (Engine.VLLM, 4): "vllm/vllm-openai-rocm:latest",
    (Engine.SGLANG, 3): "lmsysorg/sglang:v0.5.12-rocm720-mi30x",
    (Engine.SGLANG, 4): "lmsysorg/sglang:v0.5.12-rocm720-mi35x",
}
"""By engine and number of CDNA. SGLang has no tag for its newest, and none for MI200."""
MODEL_FOLDER = "/model"
"""The folder inside a container that holds a model from the machine's disk."""
CACHE_FOLDER = "/huggingface"
"""The folder inside a container for weights from the hub (HF_HOME), for any user."""
MPS_FOLDER = "/tmp/nvidia-mps"
"""Where the daemon of MPS and its clients meet, by NVIDIA's default."""


def image_of(settings: EmitSettings, launch: Launch) -> str:
    """Return the image that the user chose, or the usual one."""
    if settings.image or launch.maker is Maker.NVIDIA:
        return settings.image or IMAGES[settings.engine, settings.elastic]
    found = None if settings.elastic else AMD_IMAGES.get((settings.engine, launch.generation))
    if found is None:
        engine = f"{settings.engine} with kvcached" if settings.elastic else str(settings.engine)
        fault = Fault(
            f"is on GPUs of AMD for which {engine} has no public image",
            advice="build one and give it as --image",
            owner=Owner("model", launch.model),
        )
        raise InputError(fault)
    return found


def folder_of(launch: Launch) -> str | None:
    """Return the folder on the machine that a model is in, None if it comes from the hub."""
    if launch.source.startswith(("./", "../", "~")):
        fault = Fault(
            "is relative",
            "an absolute path for a container, or a name of the Hugging Face hub",
            value=launch.source,
            path=("source",),
            owner=Owner("model", launch.model),
        )
        raise InputError(fault)
    return posixpath.normpath(launch.source) if launch.source.startswith("/") else None


def source_inside(launch: Launch) -> str:
    """Return what an engine loads inside its container."""
    return MODEL_FOLDER if folder_of(launch) else launch.source


def health_probe(port: int) -> list[str]:
    """Return a command that fails while an engine in the same container does not answer."""
    return ["python3", "-c", _ASK, f"http://127.0.0.1:{port}/health"]


def waiting(urls: Sequence[str], seconds: int) -> list[str]:
    """Return a command that waits until all engines answer, and fails if one never does.

    Words that follow are a command that then takes its place.

    Parameters
    ----------
    urls
        Where each of them says that it is well.
    seconds
        How long they may take.
    """
    return ["python3", "-c", _WAIT, str(seconds), str(len(urls)), *urls]


_ASK = "import sys, urllib.request as web; web.urlopen(sys.argv[1], timeout=5)"

_WAIT = """\
import os, sys, time, urllib.request as web
deadline = time.monotonic() + float(sys.argv[1])
last = 3 + int(sys.argv[2])
for url in sys.argv[3:last]:
    while True:
        try:
            web.urlopen(url, timeout=5)
            break
        except OSError as error:
            if time.monotonic() > deadline:
                sys.exit(f"{url} does not answer: {error}")
            time.sleep(2)
    print(url, "answers", flush=True)
if sys.argv[last:]:
    os.execvp(sys.argv[last], sys.argv[last:])
"""
