"""The size of a model: parameters, bytes of weights, bytes of keys and values for a token."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from colocate.errors import UnknownNameError
from colocate.inputs.huggingface.divided_widths import divided_widths, weight_group
from colocate.inputs.huggingface.fields import Fields
from colocate.inputs.huggingface.formats import (
    FORMATS,
    PLAIN,
    Format,
    find_cache_format,
    find_format,
)
from colocate.inputs.huggingface.kept_modules import KeptModules
from colocate.inputs.huggingface.model_reading import Reading, read_model
from colocate.inputs.huggingface.quantisation import (
    Storage,
    cache_format,
    kept_modules,
    quantised_format,
)
from colocate.inputs.huggingface.sequence import sequence_bytes
from colocate.inputs.huggingface.towers.around import around_tensors

USUAL = FORMATS["bf16"]


@dataclass(frozen=True)
class ModelSize:
    """What a model takes, and what estimates of its speed need.

    Parameters
    ----------
    parameters
        All of them, each once: a head that is the embedding is not counted twice. Layers for
        multi-token prediction, which engines do not load by default, are left out.
    active_parameters
        Those that one token meets: of routed experts only the chosen ones. Embeddings are in, as
        in the published counts.
    prompt_parameters
        Of these, those that every token of a prompt is multiplied by: embeddings are looked up in,
        and the head is for the last token.
    weight_bytes
        In memory, with the scales of quantised weights.
    unread_bytes
        Of these, those that no step of an answer reads: embeddings that are not the head, and
        towers for pictures and sound.
    kv_bytes_per_token
        Of the layers that keep every token of the context.
    windowed_kv_bytes_per_token
        Of the layers that stop growing at `sliding_window` tokens, on top of the others. An
        engine that does not know windows lets them grow as well.
    sliding_window
        In tokens, None where no layer is windowed.
    state_bytes
        What a sequence takes once, however long it is: the states of layers that are not
        attention, and the keys and values of another part's tokens. Convolutions and recurrent
        states are in the format of the plain weights, as vLLM keeps them by default; 32 bits
        where the config or the family says so.
    attention_heads, kv_heads
        0 where there is no attention; 1 KV head where all heads share one latent vector.
    context_limit
        The most tokens of a sequence that the config allows, as vLLM derives it; None where it
        does not say.
    dtype, kv_dtype
        Formats of the weights, and of keys and values.
    shard_widths
        Widths that shards divide among them, by what they are of.
    weight_group
        Inputs of a weight that share a scale and that no shard may cut; None if any cut will do.
    source
        Where `weight_bytes` is from: ``config``, or ``index`` for the index of the weight files.
    notes
        Sentences on what was assumed or left out.
    """

    parameters: int
    active_parameters: int
    weight_bytes: int
    kv_bytes_per_token: int
    windowed_kv_bytes_per_token: int
    sliding_window: int | None
    model_type: str
    dtype: str
    kv_dtype: str
    layers: int
    hidden_size: int
    attention_heads: int
    head_dim: int
    vocab_size: int
    state_bytes: int = 0
    kv_heads: int = 0
    shard_widths: Mapping[str, int] = field(default_factory=dict)
    weight_group: int | None = None
    context_limit: int | None = None
    source: str = "config"
    notes: tuple[str, ...] = ()
    prompt_parameters: int = 0
    unread_bytes: int = 0

    @property
    def flops_per_token(self) -> int:
        """Operations for one token, without those of attention, which grow with the context."""
        return 2 * self.active_parameters

    def kv_bytes(self, tokens: int) -> int:
        """Return the bytes of keys and values that a context of so many tokens takes."""
        held = tokens if self.sliding_window is None else min(tokens, self.sliding_window)
        return tokens * self.kv_bytes_per_token + held * self.windowed_kv_bytes_per_token


def model_size(
    config: Mapping[str, Any], dtype: str | None = None, kv_dtype: str | None = None
) -> ModelSize:
    """Return the size of the model that a config describes.

    Parameters
    ----------
    config
        What a `config.json` says.
    dtype, kv_dtype
        Formats of the weights and of keys and values, instead of what the config says.
    """
    check_formats(dtype, kv_dtype)
    whole = Fields(config)
    reading = read_model(whole)
    shape = reading.shape
    others, other_notes = around_tensors(whole, shape.hidden_size)
    weights = [*shape.tensors(), *others]
    plain, dtype_notes = _plain_format(whole, reading, dtype)
    storage = _storage(whole, reading, plain, dtype)
    cached = _cache_format(whole, reading, plain, kv_dtype)
    cache = sequence_bytes(shape, cached.bits, plain.bits, reading.context_limit)
    attention = shape.attention
    active = sum(tensor.active_parameters for tensor in weights)
    tables = {tensor.name: tensor for tensor in shape.tables}
    ends = {**tables, shape.head.name: shape.head}
    unread = [*(tensor for name, tensor in tables.items() if name != shape.head.name), *others]
    return ModelSize(
        parameters=sum(tensor.parameters for tensor in weights),
        active_parameters=active,
        prompt_parameters=active - sum(tensor.active_parameters for tensor in ends.values()),
        weight_bytes=sum(storage.bytes_of(tensor) for tensor in weights),
        unread_bytes=sum(storage.bytes_of(tensor) for tensor in unread),
        kv_bytes_per_token=cache.growing,
        windowed_kv_bytes_per_token=cache.windowed,
        sliding_window=cache.window,
        state_bytes=cache.fixed,
        model_type=reading.model_type,
        dtype=storage.quantised.name,
        kv_dtype=cached.name,
        layers=len(shape.layers),
        hidden_size=shape.hidden_size,
        attention_heads=0 if attention is None else attention.heads,
        kv_heads=0 if attention is None else attention.kv_heads,
        head_dim=0 if attention is None else attention.head_dim,
        vocab_size=shape.vocab_size,
        shard_widths=divided_widths(shape),
        weight_group=weight_group(storage.quantised),
        context_limit=reading.context_limit,
        notes=(*reading.notes, *other_notes, *cache.notes, *dtype_notes),
    )


def check_formats(dtype: str | None, kv_dtype: str | None) -> None:
    """Say that a format is not known before anything is read: it is no fault of the file."""
    if dtype is not None:
        find_format(dtype)
    if kv_dtype is not None:
        find_cache_format(kv_dtype)


def _plain_format(whole: Fields, reading: Reading, dtype: str | None) -> tuple[Format, list[str]]:
    """Return the format of what is not quantised, with a note where it is a guess."""
    asked = find_format(dtype) if dtype is not None else None
    if asked is not None and asked.name in PLAIN:
        return asked, []
    for fields in (reading.fields, whole):
        name = fields.text("dtype")
        if name is None or name == "auto":
            continue
        try:
            found = find_format(name)
        except UnknownNameError:
            raise fields.refusal("dtype", f"one of: {', '.join(PLAIN)}") from None
        return (found if found.name in PLAIN else USUAL), _float32_note(found)
    return USUAL, [f"the config has no dtype, taken as {USUAL.name}"]


def _float32_note(found: Format) -> list[str]:
    if found.name != "fp32":
        return []
    return ["the config says float32; engines mostly serve such a model in 16 bits: ask for bf16"]


def _storage(whole: Fields, reading: Reading, plain: Format, dtype: str | None) -> Storage:
    """Return how the weights are kept: as asked for, else as the config says."""
    mixture = reading.shape.has_experts
    if dtype is not None:
        return Storage(plain, find_format(dtype), KeptModules(), mixture)
    section = _quantisation_section(whole, reading)
    if section is None:
        return Storage(plain, plain, KeptModules(), mixture)
    return Storage(plain, quantised_format(section), kept_modules(section), mixture)


def _cache_format(whole: Fields, reading: Reading, plain: Format, kv_dtype: str | None) -> Format:
    if kv_dtype is not None:
        return find_cache_format(kv_dtype)
    section = _quantisation_section(whole, reading)
    return (cache_format(section) if section is not None else None) or plain


def _quantisation_section(whole: Fields, reading: Reading) -> Fields | None:
    return whole.part("quantization_config") or reading.fields.part("quantization_config")
