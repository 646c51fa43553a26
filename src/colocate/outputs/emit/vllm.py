"""Shell scripts that start vLLM, one for each machine."""

from dataclasses import replace

from colocate.inputs.fleet import Fleet
from colocate.outputs.emit.emission import Emission
from colocate.outputs.emit.launch import launches_of
from colocate.outputs.emit.settings import EmitSettings, Engine
from colocate.outputs.emit.shell_script import shell_scripts
from colocate.solver.plan import Plan


def emit_vllm(plan: Plan, fleet: Fleet, settings: EmitSettings) -> Emission:
    """Return scripts with `vllm serve`."""
    settings = replace(settings, engine=Engine.VLLM)
    return shell_scripts(launches_of(plan, fleet, settings, settings.base_port))
