"""The options of `colocate lab run` that are about a model server."""

import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from colocate.errors import InputError

if TYPE_CHECKING:
    from colocate.lab.messages import Proposer

FREE = (
    "--cost: models without a price count as free, unless the server states what an answer cost; "
    "give prices as --model NAME=PRICE_IN,PRICE_OUT"
)


def openai_proposer(base_url: str | None, models: Sequence[str], **settings: Any) -> "Proposer":
    """Return the proposer that asks a server.

    Parameters
    ----------
    base_url
        The address of the server.
    models
        The models, with their prices if they have any.
    settings
        All else that `OpenAiProposer` takes.
    """
    from colocate.lab.proposers.openai.priced_model import PricedModel
    from colocate.lab.proposers.openai.server import OpenAiProposer

    if not models or not base_url:
        raise InputError(
            "proposer='openai' needs --base-url, where the server is, "
            "and --model NAME, as the server calls it"
        )
    return OpenAiProposer(
        models=tuple(PricedModel.read(text) for text in models),
        base_url=base_url,
        api_key=os.environ.get("OPENAI_API_KEY"),
        **settings,
    )


def is_priced(model: str) -> bool:
    """Whether a model was given with its prices."""
    from colocate.lab.proposers.openai.priced_model import PricedModel

    return PricedModel.read(model).is_priced


def fields_of(texts: Sequence[str]) -> dict[str, Any]:
    """Read NAME=VALUE; a value that is no JSON is a text."""
    return {name: _value(value) for name, value in _pairs("send", texts, "NAME=VALUE")}


def names_of(texts: Sequence[str]) -> dict[str, str]:
    """Read OLD=NEW."""
    return dict(_pairs("rename", texts, "OLD=NEW"))


def _pairs(option: str, texts: Sequence[str], form: str) -> list[tuple[str, str]]:
    pairs = [text.partition("=") for text in texts]
    for name, equals, value in pairs:
        if not (name.strip() and equals and value.strip()):
            raise InputError.of(option, f"{name}{equals}{value}", form)
    return [(name.strip(), value.strip()) for name, _, value in pairs]


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
