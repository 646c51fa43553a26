"""The GPUs of machines: from a text that a tool printed, or from the tools of this machine."""

import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from colocate.errors import InputError
from colocate.fault import Fault
from colocate.inputs.discovery.entries import GpuEntry, entries_of
from colocate.inputs.discovery.found_gpu import FoundGpu, RefusedGpu
from colocate.inputs.discovery.kubernetes_nodes import COMMAND as KUBECTL
from colocate.inputs.discovery.kubernetes_nodes import kubernetes_gpus
from colocate.inputs.discovery.nvidia_smi import QUERY, nvidia_gpus
from colocate.inputs.discovery.rocm_smi import COMMAND as ROCM_SMI
from colocate.inputs.discovery.rocm_smi import rocm_gpus
from colocate.inputs.spec import MOST_GPUS

NVIDIA_SMI = f"nvidia-smi --query-gpu={QUERY} --format=csv"
NVIDIA_LIST = "nvidia-smi -L"
SECONDS = 60.0
"""A tool that takes longer hangs: drivers of many GPUs answer within twenty seconds."""
LARGEST_OUTPUT = 256 * 1024 * 1024
"""Bytes: the nodes of a cluster of 5,000 machines, with the images that each one has."""
EXPECTED = "the output of nvidia-smi, rocm-smi or kubectl get nodes -o json"
UNKNOWN_MEMORY = "their memory is not known; nvidia-smi --query-gpu prints it"

Run = Callable[[Sequence[str]], str]


@dataclass(frozen=True)
class GpuFindings:
    """What was found: entries for a fleet file, and GPUs that cannot be used."""

    entries: tuple[GpuEntry, ...]
    left_out: tuple[RefusedGpu, ...] = ()


def discover_in(text: str, node: str = "") -> GpuFindings:
    """Return the GPUs that the output of a tool shows.

    Parameters
    ----------
    text
        What `nvidia-smi`, `rocm-smi` or `kubectl get nodes -o json` printed.
    node
        The machine, where the tool does not say it.

    Raises
    ------
    InputError
        If there is no GPU in the text; the message says which command to run.
    """
    gpus, left_out = kubernetes_gpus(text)
    if not gpus and not left_out:
        gpus = nvidia_gpus(text) or rocm_gpus(text)
    return _findings(gpus, left_out, node)


def discover_here(node: str = "", run: Run | None = None) -> GpuFindings:
    """Return the GPUs of this machine, by `nvidia-smi` or else `rocm-smi`.

    Parameters
    ----------
    node
        What to call the machine.
    run
        Runs a command and returns what it printed.
    """
    ask = run or run_command
    if shutil.which("nvidia-smi"):
        printed = "\n".join(ask(command.split()) for command in (NVIDIA_SMI, NVIDIA_LIST))
        return discover_in(printed, node)
    if shutil.which("rocm-smi"):
        return discover_in(ask(ROCM_SMI.split()), node)
    raise InputError(
        Fault(
            "neither nvidia-smi nor rocm-smi is on this machine",
            advice=f"run `{NVIDIA_SMI}` where the GPUs are and give its output as a file or -",
        )
    )


def discover_in_cluster(run: Run | None = None) -> GpuFindings:
    """Return the GPUs of the cluster that `kubectl` talks to."""
    if not shutil.which("kubectl"):
        advice = f"run `{KUBECTL}` elsewhere and give its output as a file or -"
        raise InputError(Fault("kubectl is not on this machine", advice=advice))
    return discover_in((run or run_command)(KUBECTL.split()))


def run_command(command: Sequence[str]) -> str:
    """Return what a command prints, or say why it printed nothing of use."""
    shown = " ".join(command)
    try:
        done = subprocess.run(command, capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        found = f"`{shown}` has not ended after {SECONDS:g} seconds"
        raise InputError(Fault(found, advice="see whether the driver hangs")) from None
    except OSError as error:
        raise InputError(Fault(f"`{shown}` cannot be run, {error.strerror or error}")) from None
    if done.returncode != 0:
        said = (done.stderr or done.stdout).decode("utf-8", "replace").strip().partition("\n")[0]
        raise InputError(Fault(f"`{shown}` failed with {done.returncode}, it said: {said[:200]!r}"))
    if len(done.stdout) > LARGEST_OUTPUT:
        raise InputError(Fault(f"`{shown}` printed more than {LARGEST_OUTPUT} bytes"))
    return done.stdout.decode("utf-8", "replace")


def _findings(gpus: Sequence[FoundGpu], left_out: Sequence[RefusedGpu], node: str) -> GpuFindings:
    total = sum(gpu.count for gpu in gpus)
    if total > MOST_GPUS:
        raise InputError(Fault(f"has {total} GPUs", f"at most {MOST_GPUS}"))
    entries, without = entries_of(replace(gpu, node=gpu.node or node) for gpu in gpus)
    unknown = [RefusedGpu(gpu.name, gpu.count, UNKNOWN_MEMORY) for gpu in without]
    if not entries and not left_out and not unknown:
        raise InputError(Fault("shows no GPU", EXPECTED, f"run `{NVIDIA_SMI}` where the GPUs are"))
    return GpuFindings(tuple(entries), (*left_out, *unknown))
