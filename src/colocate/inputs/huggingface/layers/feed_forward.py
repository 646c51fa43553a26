"""Feed-forward blocks: one wide one, or many narrow ones and a router."""

from collections.abc import Iterator
from dataclasses import dataclass

from colocate.inputs.huggingface.tensor import Tensor, TensorRole, linear, plain


@dataclass(frozen=True)
class FeedForward:
    """Two matrices, or three where a gate is multiplied in.

    Parameters
    ----------
    bias, down_bias
        Whether the matrices up, and the one down, have a bias.
    """

    width: int
    gated: bool
    bias: bool = False
    down_bias: bool = False

    def tensors(self, name: str, hidden: int) -> Iterator[Tensor]:
        """Return the weights."""
        if self.gated:
            yield from linear(f"{name}.gate_proj", self.width, hidden, self.bias)
        yield from linear(f"{name}.up_proj", self.width, hidden, self.bias)
        yield from linear(f"{name}.down_proj", hidden, self.width, self.down_bias)


@dataclass(frozen=True)
class Experts:
    """Many narrow feed-forward blocks; a router picks `chosen` of them for a token."""

    count: int
    chosen: int
    block: FeedForward
    shared_width: int
    shared_gate: bool
    router_bias: bool

    def tensors(self, name: str, hidden: int) -> Iterator[Tensor]:
        """Return the weights."""
        for tensor in self.block.tensors(f"{name}.experts", hidden):
            role = TensorRole.EXPERT if tensor.role is TensorRole.LINEAR else tensor.role
            yield Tensor(tensor.name, role, tensor.outputs, tensor.inputs, self.count, self.chosen)
        yield plain(f"{name}.gate", self.count, hidden)
        if self.router_bias:
            yield plain(f"{name}.gate", self.count)
        if self.shared_width:
            shared = FeedForward(self.shared_width, self.block.gated)
            yield from shared.tensors(f"{name}.shared_experts", hidden)
        if self.shared_gate:
            yield plain(f"{name}.shared_expert_gate", 1, hidden)
