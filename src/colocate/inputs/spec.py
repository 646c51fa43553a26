"""The fleet file as it is written: which GPUs there are and which models to serve.

The classes here are the file's fields. `resolved` replaces what points elsewhere (a config, a kind
of the catalogue) by what was found there, so that a fleet can be kept in a plan and read again
without any other file.
"""

from collections.abc import Callable, Hashable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from colocate.errors import InputError
from colocate.fault import Fault
from colocate.inputs.expectation import Noun
from colocate.inputs.gpu_catalogue import find_accelerator
from colocate.inputs.huggingface import ModelConfig, ModelSize
from colocate.inputs.huggingface.formats import bits_of
from colocate.inputs.overheads import overhead_gb
from colocate.inputs.window_spec import PerWindow, StatedWindows

MOST_GPUS = 20_000
"""In a fleet: more are a slip, and would fill the memory before the solver sees them."""
MOST_TOKENS = 1_000_000_000
"""In a request, and of requests at once: more are a slip, and sums of them leave the floats."""
RESERVE = 0.05
"""The share of a GPU's memory that models may not use unless the file says otherwise: contexts of
the driver, fragments, peaks. kvcached keeps as much free."""
MOST_UNCERTAIN = 10.0
"""The share by which a rate may be off at most: one that may be higher still says nothing."""
MOST_MS = 1_000_000
"""Milliseconds of a measured time: no step or prefill takes a quarter of an hour."""

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
A_NAME = "text that is not empty (in quotes if it looks like a number)"
Name = Annotated[str, Field(min_length=1), Noun(A_NAME, "texts")]
ModelName = Annotated[Name, Noun("name of a model", "names of models")]
Place = Annotated[Name, Noun("name of a place", "names of GPUs, nodes or kinds")]
Resource = Annotated[Name, Noun("name of a resource", "names of resources")]
Kind = Annotated[Name, Noun("text, such as a name of the GPU catalogue", "kinds of GPU")]
Config = Annotated[Name, Noun("name of a model, or path of its config.json or folder", "names")]
Format = Annotated[Name, Noun("text, such as bf16, fp8 or awq", "formats")]
CacheFormat = Annotated[Name, Noun("text, such as bf16 or fp8", "formats")]
Width = Annotated[Name, Noun("name of a width", "names of widths")]
Milliseconds = Annotated[float, Field(ge=0, le=MOST_MS, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1)]
GpuCount = Annotated[int, Field(ge=1, le=MOST_GPUS)]
TokenCount = Annotated[int, Field(ge=1, le=MOST_TOKENS)]
Amounts = NotNegative | dict[Kind, NotNegative]
EngineName = Literal["vllm", "sglang"]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, populate_by_name=True)


class GpuSpec(_Section):
    """One GPU, or `count` alike ones named `name-0`, `name-1` and so on."""

    name: Name | None = Field(None, description="By default its node, or else its kind.")
    kind: Kind | None = Field(None, description="Such as H100-80GB, from the catalogue.")
    node: Name | None = Field(None, description="The machine it is in.")
    count: GpuCount | None = Field(None, description="How many alike ones there are.")
    memory_gb: Positive | None = Field(
        None, description="All memory that the card reports; by default that of its kind."
    )
    reserve_gb: NotNegative | None = Field(
        None, description="Memory of it that models may not use; by default 5% of it."
    )
    devices: list[Annotated[int, Field(ge=0)]] | None = Field(
        None, description="Their numbers on the node; by default counted from 0 on each node."
    )
    limits: dict[Resource, NotNegative] = Field(
        default_factory=dict, description="Most use of further resources, by their names."
    )

    @property
    def stated_name(self) -> str:
        """The name it has, or that of its node or kind."""
        return self.name or self.node or self.kind or ""

    @property
    def likeness(self) -> tuple[Hashable, ...]:
        """What entries have in common whose GPUs are alike, wherever they are."""
        return self.kind, self.memory_gb, self.reserve_gb, tuple(sorted(self.limits.items()))

    def resolved(self) -> "GpuSpec":
        """Return it with its name and memory."""
        if not self.stated_name:
            advice = "give it, or a node or kind to be named after"
            raise InputError.missing("name", advice=advice)
        if self.devices is not None and len(self.devices) != (self.count or 1):
            expected = f"{self.count or 1} numbers, as many as count"
            raise InputError.of("devices", self.devices, expected)
        memory = self.memory_gb or self._memory_of_kind()
        reserve = memory * RESERVE if self.reserve_gb is None else self.reserve_gb
        if reserve >= memory:
            raise InputError.of("reserve_gb", self.reserve_gb, f"less than {memory:g} GB")
        found = {"name": self.stated_name, "memory_gb": memory, "reserve_gb": reserve}
        return self.model_copy(update=found)

    def _memory_of_kind(self) -> float:
        if self.kind is None:
            advice = "give it, or a kind of the GPU catalogue"
            raise InputError.missing("memory_gb", advice=advice)
        return find_accelerator(self.kind).memory_gb


class Steps(_Section):
    """Measured times of a lone engine, as `colocate calibrate` prints them."""

    base_ms: Milliseconds = Field(description="A decode step, before its requests.")
    per_request_ms: Milliseconds = Field(0.0, description="More for each request in the batch.")
    per_1k_context_ms: Milliseconds = Field(
        0.0, description="More for each 1,000 tokens of context, over all requests of the batch."
    )
    prefill_base_ms: Milliseconds = Field(0.0, description="A prompt, before its tokens.")
    prefill_ms_per_1k_tokens: Milliseconds | None = Field(
        None, description="More for each 1,000 tokens of it; by default prefills are estimated."
    )


def _form_of_steps(value: object) -> str:
    """Tell one section for all kinds of GPU from a section for each of some kinds."""
    by_kind = (
        isinstance(value, dict) and bool(value) and Steps.model_fields.keys().isdisjoint(value)
    )
    return "by_kind" if by_kind else "for_all"


StepTimes = Annotated[Steps, Noun("section with base_ms and others", "sections with base_ms")]
StepsOfKinds = Annotated[
    Annotated[StepTimes, Tag("for_all")] | Annotated[dict[Kind, StepTimes], Tag("by_kind")],
    Discriminator(_form_of_steps),
]


class ModelSpec(_Section):
    """One model: how large it is, how much it is asked, and where it may be."""

    name: Name = Field(description="Unique among the models.")
    source: Name | None = Field(
        None,
        description="What engines load: a Hugging Face name or a path; by default the model that "
        "config names, or else the name.",
    )
    args: list[Name] | dict[EngineName, list[Name]] = Field(
        default_factory=list,
        description="Further arguments, for any engine or by engine: vllm, sglang.",
    )
    size_gb: NotNegative | None = Field(None, description="Memory that it always holds.")
    config: Config | None = Field(
        None, description="What to size it by: a model's name, or its config.json or folder."
    )
    dtype: Format | None = Field(None, description="Format of the weights: bf16, fp8, awq, ...")
    quantised_on_disk: bool | None = Field(
        None,
        description="Whether what engines load has its weights in dtype already; by default as "
        "its config says, or else the name of its source.",
    )
    kv_dtype: CacheFormat | None = Field(
        None, description="Format of keys and values: bf16, fp8, ..."
    )
    overhead_gb: NotNegative | None = Field(
        None,
        description="What an engine holds on each GPU beyond weights and KV cache; by default an "
        "estimate with a config, and 0 with size_gb, which is taken to include it.",
    )
    rate: PerWindow | None = Field(
        None, description="Requests per second, one number or one for each time window."
    )
    slo: Positive | None = Field(None, description="Latency objective in seconds.")
    load: PerWindow | None = Field(
        None, description="The load itself, one number or one for each time window."
    )
    prompt_tokens: NotNegative | None = Field(None, description="Of a request, on average.")
    output_tokens: NotNegative | None = Field(None, description="Of a request, on average.")
    tokens_per_second: PerWindow | None = Field(
        None,
        description="Prompt and output tokens together, instead of rate; one number or one for "
        "each time window.",
    )
    rate_uncertainty: (
        Annotated[float, Field(ge=0, le=MOST_UNCERTAIN, allow_inf_nan=False)] | None
    ) = Field(
        None,
        description="The share by which its rate may be off, as `colocate observe` measures it: "
        "half of the 95% interval over the rate.",
    )
    predictability: Annotated[float, Field(le=1, allow_inf_nan=False)] | None = Field(
        None,
        description="How well its history tells its demand, as `colocate observe` measures it: 1 "
        "less the error of the same hour yesterday over that of the last minutes.",
    )
    tpot_slo: Positive | None = Field(None, description="Seconds for each output token.")
    ttft_slo: Positive | None = Field(None, description="Seconds to the first output token.")
    percentile: Literal[95, 99] | None = Field(
        None, description="The percentile that the targets are about; by default the mean."
    )
    steps: StepsOfKinds | None = Field(
        None, description="Measured times of a lone engine, for all kinds of GPU or by kind."
    )
    layers: Count | None = Field(None, description="By default from the config, or from its size.")
    kv_bytes_per_token: NotNegative | None = Field(
        None,
        description="Keys and values of one token, 0 for a model without a cache, such as an "
        "encoder; by default from the config.",
    )
    windowed_kv_bytes_per_token: NotNegative | None = Field(
        None, description="Of these, those of layers that keep the last kv_window tokens only."
    )
    kv_window: Count | None = Field(None, description="Tokens that windowed layers keep.")
    state_bytes: NotNegative | None = Field(
        None, description="State of one sequence that does not grow, as hybrid models have."
    )
    attention_heads: Count | None = Field(
        None, description="Heads of attention, which shards divide; by default from the config."
    )
    kv_heads: Count | None = Field(
        None,
        description="Heads of keys and values: shards beyond them repeat the cache. 1 for latent "
        "attention (MLA); by default from the config.",
    )
    shard_widths: dict[Width, Count] = Field(
        {},
        description="Widths that shards divide, such as feed_forward and experts; by default from "
        "the config.",
    )
    weight_group: Count | None = Field(
        None,
        description="Inputs of a quantised weight that share a scale, which no shard may cut; by "
        "default from the config.",
    )
    context_limit: Count | None = Field(
        None, description="The longest context that the model knows; by default from the config."
    )
    max_model_len: TokenCount | None = Field(
        None,
        description="Tokens of the longest request, prompt and answer, that must be served; by "
        "default twice prompt_tokens + output_tokens, and at least 4096 unless both are stated.",
    )
    min_concurrency: TokenCount = Field(
        1, description="How many requests of max_model_len must fit in the cache at once."
    )
    notes: list[Name] = Field(
        default_factory=list, description="What a reader should know about its size."
    )
    active_parameters: Positive | None = Field(
        None, description="Parameters that a token meets; by default from config or size."
    )
    prompt_parameters: Positive | None = Field(
        None,
        description="Of these, those that every token of a prompt is multiplied by, so without "
        "embeddings and head; by default from the config, else guessed from the size.",
    )
    unread_gb: NotNegative | None = Field(
        None,
        description="Weights that no step of an answer reads, such as embeddings that are not the "
        "head; by default from the config, else guessed from the size.",
    )
    uses: dict[Resource, Amounts] = Field(
        default_factory=dict,
        description="Use of further resources on each GPU it is on, for all kinds or by kind.",
    )
    replicas: Count | Literal["auto"] = Field(
        1, description="Replicas on different GPUs, which share the load; auto decides how many."
    )
    shards: GpuCount = Field(
        1, description="Parts of a replica, on GPUs of one node (tensor parallel)."
    )
    only: list[Place] = Field(
        default_factory=list, description="GPUs, nodes or kinds that it must be on."
    )
    never: list[Place] = Field(
        default_factory=list, description="GPUs, nodes or kinds that it must not be on."
    )
    may_sleep: bool = Field(False, description="Whether it may be left out if it has to be.")
    importance: NotNegative = Field(
        1.0, description="How much its demand counts when models have to sleep; 0 makes it free."
    )

    def arguments_for(self, engine: EngineName) -> list[str]:
        """Return the further arguments for an engine."""
        return self.args.get(engine, []) if isinstance(self.args, dict) else self.args

    def resolved(self, find_config: Callable[[str], ModelConfig]) -> "ModelSpec":
        """Return it with what its config says."""
        if self.size_gb is None and self.config is None:
            advice = "give it, or config to size it by"
            raise InputError.missing("size_gb", advice=advice)
        if self.size_gb is not None and self.config is not None:
            raise InputError(Fault("has size_gb and config", advice="give one of them"))
        if self.config is None:
            return self.model_copy(update={"overhead_gb": self.overhead_gb or 0.0})
        config = find_config(self.config)
        size = config.size(self.dtype, self.kv_dtype)
        found = {
            "source": config.hub_name,
            "overhead_gb": self._overhead_gb(size),
            "dtype": size.dtype,
            "quantised_on_disk": self._is_on_disk(config) or None,
            "kv_dtype": size.kv_dtype,
            "kv_bytes_per_token": float(size.kv_bytes_per_token + size.windowed_kv_bytes_per_token),
            "windowed_kv_bytes_per_token": float(size.windowed_kv_bytes_per_token) or None,
            "kv_window": size.sliding_window,
            "state_bytes": float(size.state_bytes) or None,
            "attention_heads": size.attention_heads or None,
            "kv_heads": size.kv_heads or None,
            "weight_group": size.weight_group,
            "context_limit": size.context_limit,
            "active_parameters": float(size.active_parameters),
            "prompt_parameters": float(size.prompt_parameters),
            "unread_gb": size.unread_bytes / 1e9,
            "layers": size.layers,
        }
        missing = {name: value for name, value in found.items() if getattr(self, name) is None}
        weights = {
            "size_gb": size.weight_bytes / 1e9,
            "config": None,
            "shard_widths": {**size.shard_widths, **self.shard_widths},
            "notes": [*self.notes, *size.notes],
        }
        return self.model_copy(update={**missing, **weights})

    def _overhead_gb(self, size: ModelSize) -> float:
        return overhead_gb(size, self.shards, self.arguments_for("vllm"), self.min_concurrency)

    def _is_on_disk(self, config: ModelConfig) -> bool:
        """Say whether weights are kept in as many bits as they are wanted in."""
        if not config.quantised_on_disk:
            return False
        try:
            kept = config.size().dtype
        except InputError:  # its format is not known here, so it was named: as it is on disk
            return True
        return bits_of(self.dtype or kept) == bits_of(kept)


class FleetSpec(_Section):
    """The whole file."""

    model_config = ConfigDict(
        title="Fleet file of colocate", extra="forbid", strict=True, populate_by_name=True
    )

    version: Literal[1] = Field(1, alias="schema", description="Version of the file's form.")
    load: Literal["requests", "tokens"] = Field(
        "requests",
        description="What load is: rate / slo, or "
        "tokens_per_second x kv_bytes_per_token / tpot_slo.",
    )
    gpus: Annotated[list[Annotated[GpuSpec, Noun("GPU", "GPUs")]], Field(min_length=1)]
    models: Annotated[list[Annotated[ModelSpec, Noun("model", "models")]], Field(min_length=1)]
    apart: list[list[ModelName]] = Field(
        default_factory=list, description="Groups of models of which no two share a GPU."
    )
    together: list[list[ModelName]] = Field(
        default_factory=list, description="Groups of models that share one GPU."
    )
    most_models: Count | None = Field(None, description="How many models a GPU may hold.")
    most_pressure: Positive | None = Field(
        None, description="The highest pressure allowed; models that may sleep do so for it."
    )
    sharing: Literal["slices", "mps"] | None = Field(
        None,
        description="How engines on a GPU share it: in slices of time (the default), or at once "
        "under NVIDIA MPS.",
    )
    objective: Literal["pressure", "latency"] | None = Field(
        None,
        description="What to minimise: the worst latency over its target (the default where it "
        "is known), or the highest pressure.",
    )
    windows: StatedWindows | None = Field(
        None,
        description="Names of the time windows that lists of rates and loads have, or sections "
        "with name and weight; by default they are numbered and count alike.",
    )
    window_percentile: Annotated[float, Field(gt=0, le=100, allow_inf_nan=False)] | None = Field(
        None,
        description="Plan for this share of the time, in percent by the weights of the windows: "
        "the windows with most demand are left out; by default none is.",
    )
    headroom: NotNegative = Field(
        0.0, description="How much more demand to plan for than is stated: 0.2 is a fifth more."
    )
    compute_limit: Positive | None = Field(
        None,
        description="A plain cap on the estimated share of time that a GPU is busy, where token "
        "rates are known; by default there is none.",
    )


def fleet_schema() -> dict[str, Any]:
    """Return the JSON Schema of a fleet file."""
    schema = FleetSpec.model_json_schema(by_alias=True)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "patternProperties": {"^x-": {"description": "Ignored: a place for YAML anchors."}},
    }
