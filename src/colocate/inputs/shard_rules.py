"""Numbers of shards that engines accept for a model.

vLLM and SGLang cut a replica into shards by heads of attention and by the widths of matrices, and
refuse to start where a cut does not come out even. Both have the same rules (read in vLLM a014e35
and SGLang cce0a12):

- Shards divide the attention heads (vLLM: `verify_with_parallel_config`).
- Shards divide the KV heads, or are a multiple of them: then several shards hold the same head
  (`QKVParallelLinear` of both).
- Shards divide the widths of feed-forward blocks and experts (`divide`, `FusedMoEConfig`).
- Where weights share a scale in groups (AWQ, GPTQ, fp8 in blocks), every shard has whole groups
  (vLLM: `validate_fp8_block_shape`, `MarlinLinearKernel`; SGLang: `Fp8LinearMethod`,
  `check_quantized_moe_compatibility`). Experts in 4 bits are the exception: both engines halve the
  groups, down to 32 (`moe_wna16`).

The vocabulary is padded, so it sets no rule. Vision towers differ: vLLM keeps one whole on every
GPU where its heads do not divide, SGLang refuses unless the model pads them. A config does not
always state these heads, so no rule is made of them.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from colocate.errors import InputError
from colocate.fault import Fault
from colocate.inputs.huggingface.formats import bits_of
from colocate.inputs.least_cache import cache_repeats
from colocate.inputs.spec import ModelSpec

EXPERTS = "experts"
"""The width of experts among the widths that shards divide."""
SMALLEST_EXPERT_GROUP = 32
"""Inputs that share a scale at least, when engines cut the groups of 4-bit experts."""
GROUPED = ("attention", "feed_forward", EXPERTS, "shared_experts")
"""Widths of matrices that are quantised; other widths only have to be divided."""
MOST_LISTED = 6
"""Accepted numbers in a message: those nearest to the one refused."""
FARTHEST = 64
"""The most shards to look at for a message: more GPUs are in no node."""


class ShardRule(NamedTuple):
    """What engines ask of a number of shards."""

    must_be: str
    """In words, as the end of `must be ...`."""
    met_by: Callable[[int], bool]


def shards_fault(model: ModelSpec, shards: int) -> str | None:
    """Return what a number of shards must be for engines to accept it; None if they do.

    Only what is known of the model counts: its heads, and the widths of its matrices.
    """
    return next((d.must_be for d in _rules(model) if not d.met_by(shards)), None)


def accepted_shards(model: ModelSpec, most: int) -> list[int]:
    """Return the numbers of shards up to `most` that engines accept, smallest first."""
    return [shards for shards in range(1, most + 1) if shards_fault(model, shards) is None]


def checked_shards(model: ModelSpec) -> int:
    """Return the shards of a model, or raise an error that names numbers that engines accept."""
    must_be = shards_fault(model, model.shards)
    if must_be is None:
        return model.shards
    working = accepted_shards(model, max(FARTHEST, 2 * model.shards))
    near = sorted(sorted(working, key=lambda n: abs(n - model.shards))[:MOST_LISTED])
    advice = f"engines accept {', '.join(map(str, near))}"
    raise InputError(Fault(value=model.shards, expected=must_be, advice=advice, path=("shards",)))


def noted(model: ModelSpec) -> ModelSpec:
    """Return a resolved model with notes on what its shards cost."""
    new = [note for note in _notes(model) if note not in model.notes]
    return model.model_copy(update={"notes": [*model.notes, *new]}) if new else model


def _notes(model: ModelSpec) -> Iterator[str]:
    repeats = cache_repeats(model)
    if repeats > 1:
        heads = "1 KV head" if model.kv_heads == 1 else f"{model.kv_heads} KV heads"
        yield (
            f"its {model.shards} shards hold every key and value {repeats:g} times, since there "
            f"are more shards than its {heads}; SGLang's --enable-dp-attention and vLLM's "
            "--decode-context-parallel-size avoid that, and a plan does not count on them"
        )
    width, group = model.shard_widths.get(EXPERTS), model.weight_group
    if model.shards > 1 and width and group and width // model.shards % group:
        yield (
            f"its shards cut groups of {group} weights in the experts that share a scale, so "
            "engines fall back to slower kernels (moe_wna16)"
        )


def _rules(model: ModelSpec) -> Iterator[ShardRule]:
    """Yield what engines demand of the shards of a model, the best known rules first."""
    heads, kv_heads, group = model.attention_heads, model.kv_heads, model.weight_group
    if heads is not None:
        yield _dividing(heads, f"{heads} attention heads")
    if kv_heads is not None:
        yield ShardRule(
            f"a divisor or a multiple of {kv_heads} KV heads",
            lambda shards: kv_heads % shards == 0 or shards % kv_heads == 0,
        )
    for what, width in model.shard_widths.items():
        whole = f"the {what} width {width}"
        yield _dividing(width, whole)
        if group is not None and what in GROUPED:
            yield _in_groups(width, whole, _group_of(model, what, group))


def _dividing(number: int, what: str) -> ShardRule:
    return ShardRule(f"a divisor of {what}", lambda shards: number % shards == 0)


def _in_groups(width: int, what: str, group: int) -> ShardRule:
    """Return the demand that every shard has whole groups; one shard always does."""
    return ShardRule(
        f"a number that cuts {what} into multiples of {group}, since so many weights share a scale",
        lambda shards: shards == 1 or width // shards % group == 0,
    )


def _group_of(model: ModelSpec, what: str, group: int) -> int:
    """Return how many inputs share a scale once a matrix is cut."""
    if what == EXPERTS and bits_of(model.dtype) < 8:
        return min(group, SMALLEST_EXPERT_GROUP)
    return group
