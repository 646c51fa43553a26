"""A config of the LiteLLM proxy: one entry for each replica, under the name of its model."""

from collections.abc import Mapping, Sequence
from typing import Any

from colocate.outputs.emit.gateway.endpoints import Endpoint, context_of
from colocate.outputs.emit.targets.yaml_file import yaml_text

FROM_ENVIRONMENT = "os.environ/"
"""How a value begins that LiteLLM reads from the environment."""
KEY, MASTER_KEY = "COLOCATE_API_KEY", "LITELLM_MASTER_KEY"
STRATEGY = "simple-shuffle"
"""Replicas get requests at random, as LiteLLM advises. Its least-busy strategy counts a request
only after it has chosen, so requests that come at once all go to one replica (seen in 1.106)."""
LONGEST_SECONDS = 3600
"""That a request may take: long answers of large models take many minutes."""
COMMENTS = (
    "A LiteLLM proxy for a colocate plan: litellm --config this file; requests name a model.",
    f"{KEY} is the key that engines ask for, or any text if they ask for none. "
    f"{MASTER_KEY} is the key that clients of the proxy must give; it begins with sk-.",
)


def litellm_yaml(models: Mapping[str, Sequence[Endpoint]]) -> str:
    """Return the config for models that are awake, by name."""
    document = {
        "model_list": [
            _entry(endpoint)
            for model, endpoints in models.items()
            if not misread(model)
            for endpoint in endpoints
        ],
        "router_settings": {
            "routing_strategy": STRATEGY,
            "num_retries": 2,
            "timeout": LONGEST_SECONDS,
            "allowed_fails": 3,
            "cooldown_time": 30,
        },
        "litellm_settings": {"request_timeout": LONGEST_SECONDS, "telemetry": False},
        "general_settings": {"master_key": f"{FROM_ENVIRONMENT}{MASTER_KEY}"},
    }
    return yaml_text(COMMENTS, document)


def misread(model: str) -> bool:
    """Return whether LiteLLM takes a name for a pattern or a variable."""
    return "*" in model or model.startswith(FROM_ENVIRONMENT)


def _entry(endpoint: Endpoint) -> dict[str, Any]:
    context = context_of(endpoint.launch)
    known = {} if context is None else {"max_input_tokens": context}
    return {
        "model_name": endpoint.launch.model,
        "litellm_params": {
            "model": f"openai/{endpoint.asked}",
            "api_base": endpoint.base_url,
            "api_key": f"{FROM_ENVIRONMENT}{KEY}",
        },
        "model_info": {"id": endpoint.launch.name, **known},
    }
