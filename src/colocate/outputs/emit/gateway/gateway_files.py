"""The files for clients and gateways, which every target has."""

from colocate.inputs.fleet import Fleet
from colocate.outputs.emit.emission import EmittedFile
from colocate.outputs.emit.engines.names import safe_names
from colocate.outputs.emit.gateway.endpoints import distinct, endpoints_of, engines_of
from colocate.outputs.emit.gateway.endpoints_file import endpoints_json
from colocate.outputs.emit.gateway.hosts import hosts_of
from colocate.outputs.emit.gateway.litellm_config import litellm_yaml, misread
from colocate.outputs.emit.gateway.nginx_config import gateway_path, nginx_conf
from colocate.outputs.emit.settings import EmitSettings, Target
from colocate.outputs.text.wording import quoted
from colocate.solver.plan import Plan


def gateway_files(
    target: Target, plan: Plan, fleet: Fleet, settings: EmitSettings
) -> tuple[tuple[EmittedFile, ...], tuple[str, ...]]:
    """Return the files, and notes on what they cannot do.

    Parameters
    ----------
    target, plan, fleet, settings
        As `catalogue.emit` takes them.
    """
    fleetwide = engines_of(target, plan, fleet, settings)
    hosts = hosts_of(fleet, settings)
    endpoints = endpoints_of(target, fleetwide, hosts)
    names = safe_names(fleet.models)
    models = distinct(endpoints)
    paths = {model: gateway_path(names[model]) for model in models}
    files = (
        EmittedFile("endpoints.json", endpoints_json(target, fleetwide, endpoints, paths)),
        EmittedFile("litellm.yaml", litellm_yaml(models)),
        EmittedFile("nginx.conf", nginx_conf(models, names, settings)),
    )
    left_out = [
        f"litellm.yaml leaves out model {quoted(model)}: LiteLLM takes that name for a pattern or "
        "a variable"
        for model in models
        if misread(model)
    ]
    return files, (*hosts.notes(), *left_out)
