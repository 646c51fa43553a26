"""The names of the models that a server offers."""

import json

from colocate.errors import InputError, ServerError
from colocate.fault import Fault
from colocate.inputs.server.address import ServerAddress

LARGEST_LIST = 4 * 1024 * 1024
"""Bytes: a gateway with thousands of models has less."""
SECONDS_TO_ANSWER = 10.0
"""Within which the list must be there; it is no work for a server."""


def known_models(address: ServerAddress) -> list[str]:
    """Return the names that a server lists; none if it has no list.

    Raises
    ------
    ServerError
        If the server cannot be reached at all.
    """
    try:
        text = address.get("models", SECONDS_TO_ANSWER, LARGEST_LIST)
    except ServerError as error:
        if error.status is None or error.status in (401, 403):
            raise
        return []
    try:
        return [str(each["id"]) for each in json.loads(text)["data"]]
    except (ValueError, TypeError, KeyError, RecursionError):
        return []


def only_model(names: list[str]) -> str:
    """Return the name of a model that is the only one, or ask which one is meant."""
    if len(names) == 1:
        return names[0]
    advice = f"the server has: {', '.join(names[:8])}" if names else ""
    raise InputError(Fault("is missing", "the model's name on the server", advice, path=("model",)))
