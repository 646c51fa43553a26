"""The fields of a config, checked where they are read; every error names the field."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from colocate.errors import InputError
from colocate.fault import Fault, shown

LARGEST = 1_000_000_000
"""No dimension of a model comes near; beyond it a config is mistaken."""
MOST_ENTRIES = 100_000
"""In a list of layers or modules."""

SPELLINGS = {
    "hidden_size": ("hidden_size", "n_embd", "d_model", "n_embed"),
    "num_hidden_layers": ("num_hidden_layers", "n_layer", "n_layers", "num_layers"),
    "layer_types": ("layer_types", "layers_block_type"),
    "num_attention_heads": ("num_attention_heads", "n_head", "n_heads"),
    "num_key_value_heads": ("num_key_value_heads", "num_kv_heads", "n_head_kv"),
    "intermediate_size": ("intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim"),
    "max_position_embeddings": ("max_position_embeddings", "n_positions"),
    "num_experts": ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"),
    "num_experts_per_tok": (
        "num_experts_per_tok",
        "experts_per_token",
        "num_experts_per_token",
        "moe_k",
        "moe_topk",
    ),
    "n_shared_experts": (
        "n_shared_experts",
        "num_shared_experts",
        "moe_num_shared_experts",
        "num_shared_expert",
    ),
    "shared_expert_intermediate_size": (
        "shared_expert_intermediate_size",
        "moe_shared_expert_intermediate_size",
    ),
    "first_k_dense_replace": ("first_k_dense_replace", "num_dense_layers"),
    "decoder_sparse_step": ("decoder_sparse_step", "interleave_moe_layer_step"),
    "sliding_window_pattern": ("sliding_window_pattern", "_sliding_window_pattern"),
    "dtype": ("dtype", "torch_dtype"),
    "bits": ("bits", "w_bit"),
    "group_size": ("group_size", "q_group_size"),
    "weight_block_size": ("weight_block_size", "block_structure"),
    "load_in_4bit": ("load_in_4bit", "_load_in_4bit"),
    "load_in_8bit": ("load_in_8bit", "_load_in_8bit"),
}
"""Families write the same thing under different names."""


@dataclass(frozen=True)
class Fields:
    """One section of a config with the defaults of its family.

    Parameters
    ----------
    values
        What the file says.
    defaults
        What holds for a field that the file leaves out. A null in the file is no omission: it
        says "none", and wins over the default.
    section
        Where in the file it stands, as errors name it: ``text_config.``
    spellings
        How its family spells fields; a dot leads into a section.
    layer
        The layer that it is read for: a list of numbers then means that entry. None is no layer.
    """

    values: Mapping[str, Any]
    defaults: Mapping[str, Any] = field(default_factory=dict)
    section: str = ""
    spellings: Mapping[str, str] = field(default_factory=dict)
    layer: int | None = None

    def of_family(self, defaults: Mapping[str, Any], spellings: Mapping[str, str]) -> Self:
        """Return the same fields with the defaults and the spellings of a family."""
        return replace(self, defaults=defaults, spellings=spellings)

    def at_layer(self, layer: int) -> Self:
        """Return the same fields as one layer has them."""
        return replace(self, layer=layer)

    def count(self, name: str, least: int = 1) -> int:
        """Return a whole number that must be there."""
        found = self.optional_count(name, least)
        if found is None:
            raise InputError.missing(f"{self.section}{name}", _whole(least))
        return found

    def optional_count(self, name: str, least: int = 1) -> int | None:
        """Return a whole number, or None where it is left out or null."""
        spelling, value = self._found(name)
        if self.layer is not None and isinstance(value, list):
            value = value[self.layer] if self.layer < len(value) else None
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= LARGEST:
            raise self._wrong(spelling, value, _whole(least))
        return value

    def switch(self, name: str) -> bool:
        """Return a true or false; left out or null is false."""
        spelling, value = self._found(name)
        if value is None:
            return False
        if not isinstance(value, bool):
            raise self._wrong(spelling, value, "true or false")
        return value

    def text(self, name: str) -> str | None:
        """Return a text, or None where it is left out or null."""
        spelling, value = self._found(name)
        if value is not None and not isinstance(value, str):
            raise self._wrong(spelling, value, "a text")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts, empty where it is left out or null."""
        return self._entries(name, "a list of texts", lambda entry: isinstance(entry, str))

    def whole_numbers(self, name: str, least: int = 0) -> tuple[int, ...]:
        """Return a list of whole numbers, empty where it is left out or null."""
        return self._entries(
            name,
            f"a list, each {_whole(least)}",
            lambda entry: type(entry) is int and least <= entry <= LARGEST,
        )

    def part(self, name: str) -> Self | None:
        """Return the fields of a section inside this one, or None where there is none."""
        spelling, value = self._found(name)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise self._wrong(spelling, value, "a mapping")
        label = name if name.isidentifier() else shown(name)
        return type(self)(value, {}, f"{self.section}{label}.")

    def refusal(self, name: str, expected: str) -> InputError:
        """Return an error about a value that was read and cannot be used."""
        return self._wrong(*self._found(name), expected)

    def _entries(self, name: str, expected: str, fits: Callable[[object], bool]) -> tuple[Any, ...]:
        spelling, value = self._found(name)
        if value is None:
            return ()
        if not isinstance(value, Sequence) or isinstance(value, str) or not all(map(fits, value)):
            raise self._wrong(spelling, value, expected)
        if len(value) > MOST_ENTRIES:
            found, path = f"has {len(value)} entries", (f"{self.section}{spelling}",)
            raise InputError(Fault(found, f"at most {MOST_ENTRIES}", path=path))
        return tuple(value)

    def _found(self, name: str) -> tuple[str, Any]:
        """Return how the file spells the field, and its value."""
        if name in self.spellings:
            return self._found_as(name, self.spellings[name])
        spellings = [name for name in SPELLINGS.get(name, (name,)) if name in self.values]
        for spelling in spellings:
            if self.values[spelling] is not None:
                return spelling, self.values[spelling]
        return name, None if spellings else self.defaults.get(name)

    def _found_as(self, name: str, spelling: str) -> tuple[str, Any]:
        """Return what the family has under its own spelling; a section may be left out."""
        section, _, last = spelling.rpartition(".")
        values = self.values.get(section) if section else self.values
        if isinstance(values, Mapping) and last in values:
            return spelling, values[last]
        if section and name in self.values:
            return name, self.values[name]
        return spelling, self.defaults.get(name)

    def _wrong(self, spelling: str, value: object, expected: str) -> InputError:
        return InputError.of(f"{self.section}{spelling}", value, expected)


def _whole(least: int) -> str:
    return f"a whole number from {least} to {LARGEST}"
