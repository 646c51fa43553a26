"""Every weight of a model, from its shape."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from colocate.inputs.huggingface.shape import (
    Attention,
    Experts,
    FeedForward,
    LatentAttention,
    Shape,
)


class TensorRole(StrEnum):
    """What a weight is for, which decides whether a quantisation touches it."""

    LINEAR = "linear"
    EXPERT = "expert"
    PLAIN = "plain"
    """Embeddings, the head, norms, biases and routers: never quantised."""


@dataclass(frozen=True)
class Tensor:
    """Alike weights: `copies` matrices, of which one token meets `active`.

    The name is that of the module in the files of Llama and its relatives, from `layers` on.
    """

    name: str
    role: TensorRole
    outputs: int
    inputs: int = 1
    copies: int = 1
    active: int = 1

    @property
    def parameters(self) -> int:
        """Parameters of all copies."""
        return self.copies * self.outputs * self.inputs

    @property
    def active_parameters(self) -> int:
        """Parameters that one token meets."""
        return self.active * self.outputs * self.inputs


def tensors(shape: Shape) -> Iterator[Tensor]:
    """Return the weights of a model, layer by layer."""
    yield from _ends(shape)
    for layer in range(shape.layers):
        yield from _layer(shape, layer)


def _ends(shape: Shape) -> Iterator[Tensor]:
    """Return what stands before the first layer and after the last."""
    hidden, width = shape.hidden_size, shape.embedding_width
    yield Tensor("embed_tokens", TensorRole.PLAIN, shape.vocab_size, width)
    if width != hidden:
        yield Tensor("project_in", TensorRole.LINEAR, hidden, width)
        yield Tensor("project_out", TensorRole.LINEAR, width, hidden)
    if shape.positions:
        yield Tensor("embed_positions", TensorRole.PLAIN, shape.positions, hidden)
    if shape.embedding_norm:
        yield _norm("embed_norm", hidden, shape.norm_bias)
    if shape.norms:
        yield _norm("norm", hidden, shape.norm_bias)
    if not shape.tied:
        yield Tensor("lm_head", TensorRole.PLAIN, shape.vocab_size, width)
    if shape.head_bias:
        yield Tensor("lm_head", TensorRole.PLAIN, shape.vocab_size)


def _layer(shape: Shape, layer: int) -> Iterator[Tensor]:
    name = f"layers.{layer}"
    for _ in range(shape.norms):
        yield _norm(f"{name}.norm", shape.hidden_size, shape.norm_bias)
    if isinstance(shape.attention, LatentAttention):
        yield from _latent_attention(f"{name}.self_attn", shape.attention, shape.hidden_size)
    else:
        yield from _attention(f"{name}.self_attn", shape.attention, shape)
    if shape.experts is not None and layer in shape.experts.layers:
        yield from _experts(f"{name}.mlp", shape.experts, shape.hidden_size)
    else:
        yield from _feed_forward(f"{name}.mlp", shape.feed_forward, shape.hidden_size)


def _attention(name: str, attention: Attention, shape: Shape) -> Iterator[Tensor]:
    hidden = shape.hidden_size
    queries = attention.heads * attention.head_dim
    keys = attention.kv_heads * attention.head_dim
    yield from _linear(f"{name}.q_proj", queries, hidden, attention.qkv_bias)
    yield from _linear(f"{name}.k_proj", keys, hidden, attention.qkv_bias)
    yield from _linear(f"{name}.v_proj", keys, hidden, attention.qkv_bias)
    yield from _linear(f"{name}.o_proj", hidden, queries, attention.output_bias)
    if attention.norm:
        of_all = attention.norm_of_all_heads
        yield _norm(f"{name}.q_norm", queries if of_all else attention.head_dim, shape.norm_bias)
        yield _norm(f"{name}.k_norm", keys if of_all else attention.head_dim, shape.norm_bias)
    if attention.sinks:
        yield Tensor(f"{name}.sinks", TensorRole.PLAIN, attention.heads)


def _latent_attention(name: str, attention: LatentAttention, hidden: int) -> Iterator[Tensor]:
    queries = attention.heads * attention.head_dim
    values = attention.heads * attention.value_dim
    rank, kv_rank, bias = attention.query_rank, attention.kv_rank, attention.bias
    if rank is None:
        yield from _linear(f"{name}.q_proj", queries, hidden)
    else:
        yield from _linear(f"{name}.q_a_proj", rank, hidden, bias)
        yield _norm(f"{name}.q_a_layernorm", rank)
        yield from _linear(f"{name}.q_b_proj", queries, rank)
    compressed = kv_rank + attention.rotary_dim
    yield from _linear(f"{name}.kv_a_proj_with_mqa", compressed, hidden, bias)
    yield _norm(f"{name}.kv_a_layernorm", kv_rank)
    expanded = attention.heads * attention.plain_dim + values
    yield from _linear(f"{name}.kv_b_proj", expanded, kv_rank)
    yield from _linear(f"{name}.o_proj", hidden, values, bias)


def _feed_forward(name: str, block: FeedForward, hidden: int) -> Iterator[Tensor]:
    if block.gated:
        yield from _linear(f"{name}.gate_proj", block.width, hidden, block.bias)
    yield from _linear(f"{name}.up_proj", block.width, hidden, block.bias)
    yield from _linear(f"{name}.down_proj", hidden, block.width, block.bias)


def _experts(name: str, experts: Experts, hidden: int) -> Iterator[Tensor]:
    for tensor in _feed_forward(f"{name}.experts", experts.block, hidden):
        role = TensorRole.EXPERT if tensor.role is TensorRole.LINEAR else tensor.role
        yield Tensor(
            tensor.name, role, tensor.outputs, tensor.inputs, experts.count, experts.chosen
        )
    yield Tensor(f"{name}.gate", TensorRole.PLAIN, experts.count, hidden)
    if experts.router_bias:
        yield Tensor(f"{name}.gate", TensorRole.PLAIN, experts.count)
    if experts.shared_width:
        shared = FeedForward(experts.shared_width, experts.block.gated)
        yield from _feed_forward(f"{name}.shared_experts", shared, hidden)
    if experts.shared_gate:
        yield Tensor(f"{name}.shared_expert_gate", TensorRole.PLAIN, 1, hidden)


def _linear(name: str, outputs: int, inputs: int, bias: bool = False) -> Iterator[Tensor]:
    yield Tensor(name, TensorRole.LINEAR, outputs, inputs)
    if bias:
        yield Tensor(name, TensorRole.PLAIN, outputs)


def _norm(name: str, width: int, bias: bool = False) -> Tensor:
    return Tensor(name, TensorRole.PLAIN, 2 * width if bias else width)
