"""Layers with a fixed state: what they keep of a sequence does not grow with it.

The shapes of the states are those that vLLM allocates (`MambaStateShapeCalculator`).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from colocate.inputs.huggingface.layers.kept import Kept
from colocate.inputs.huggingface.tensor import Tensor, linear, norm, plain


@dataclass(frozen=True)
class Mamba:
    """A selective state space of the first kind: every channel has `state` values.

    Parameters
    ----------
    step_rank
        Of the projection to the step sizes.
    norms
        Whether step, inputs and outputs of the state have norms of their own (Jamba).
    """

    width: int
    state: int
    kernel: int
    step_rank: int
    bias: bool
    conv_bias: bool
    norms: bool

    module = "mamba"

    @property
    def kept(self) -> Kept:
        """The last inputs of the convolution, and the state of every channel."""
        return Kept(convolution=(self.kernel - 1) * self.width, recurrent=self.width * self.state)

    def tensors(self, name: str, hidden: int) -> Iterator[Tensor]:
        """Return the weights."""
        width, projected = self.width, self.step_rank + 2 * self.state
        yield from linear(f"{name}.in_proj", 2 * width, hidden, self.bias)
        yield plain(f"{name}.conv1d", width, self.kernel + self.conv_bias)
        yield from linear(f"{name}.x_proj", projected, width)
        yield from linear(f"{name}.dt_proj", width, self.step_rank, bias=True)
        yield plain(f"{name}.A_log", width, self.state)
        yield plain(f"{name}.D", width)
        yield from linear(f"{name}.out_proj", hidden, width, self.bias)
        if self.norms:
            yield norm(f"{name}.norms", projected)


@dataclass(frozen=True)
class Mamba2:
    """A selective state space of the second kind: heads, and groups that share inputs."""

    width: int
    heads: int
    groups: int
    state: int
    kernel: int
    bias: bool
    conv_bias: bool
    norm: bool
    wide: bool = False

    module = "mamba"

    @property
    def kept(self) -> Kept:
        """The last inputs of the convolution, and the state of every head."""
        convolution = (self.kernel - 1) * self._mixed
        return Kept(convolution=convolution, recurrent=self.width * self.state, wide=self.wide)

    def tensors(self, name: str, hidden: int) -> Iterator[Tensor]:
        """Return the weights."""
        yield from linear(
            f"{name}.in_proj", self.width + self._mixed + self.heads, hidden, self.bias
        )
        yield plain(f"{name}.conv1d", self._mixed, self.kernel + self.conv_bias)
        yield plain(f"{name}.heads", self.heads, 3)
        if self.norm:
            yield norm(f"{name}.norm", self.width)
        yield from linear(f"{name}.out_proj", hidden, self.width, self.bias)

    @property
    def _mixed(self) -> int:
        """Channels that the convolution runs over."""
        return self.width + 2 * self.groups * self.state


@dataclass(frozen=True)
class DeltaNet:
    """Linear attention with a gated delta rule (Qwen3-Next): a matrix by head."""

    key_heads: int
    value_heads: int
    key_dim: int
    value_dim: int
    kernel: int
    wide: bool = False

    module = "linear_attn"

    @property
    def kept(self) -> Kept:
        """The last inputs of the convolution, and the matrix of every head."""
        matrix = self.value_heads * self.key_dim * self.value_dim
        convolution = (self.kernel - 1) * self._mixed
        return Kept(convolution=convolution, recurrent=matrix, wide=self.wide)

    def tensors(self, name: str, hidden: int) -> Iterator[Tensor]:
        """Return the weights."""
        values = self.value_heads * self.value_dim
        yield from linear(f"{name}.in_proj_qkvz", self._mixed + values, hidden)
        yield from linear(f"{name}.in_proj_ba", 2 * self.value_heads, hidden)
        yield plain(f"{name}.conv1d", self._mixed, self.kernel)
        yield plain(f"{name}.heads", self.value_heads, 2)
        yield norm(f"{name}.norm", self.value_dim)
        yield from linear(f"{name}.out_proj", hidden, values)

    @property
    def _mixed(self) -> int:
        return 2 * self.key_heads * self.key_dim + self.value_heads * self.value_dim


@dataclass(frozen=True)
class KimiDelta:
    """Linear attention with a delta rule and a gate for each channel (Kimi Linear)."""

    heads: int
    head_dim: int
    kernel: int

    module = "self_attn"

    @property
    def kept(self) -> Kept:
        """The last inputs of the convolution, and the matrix of every head in 32 bits."""
        convolution = (self.kernel - 1) * 3 * self._width
        return Kept(convolution=convolution, recurrent=self._width * self.head_dim, wide=True)

    def tensors(self, name: str, hidden: int) -> Iterator[Tensor]:
        """Return the weights."""
        width, dim = self._width, self.head_dim
        for part in "qkv":
            yield from linear(f"{name}.{part}_proj", width, hidden)
        yield plain(f"{name}.conv1d", 3 * width, self.kernel)
        for gate in "fg":
            yield from linear(f"{name}.{gate}_a_proj", dim, hidden)
            yield from linear(f"{name}.{gate}_b_proj", width, dim)
        yield from linear(f"{name}.b_proj", self.heads, hidden)
        yield plain(f"{name}.dt_bias", width)
        yield plain(f"{name}.A_log", self.heads)
        yield norm(f"{name}.o_norm", dim)
        yield from linear(f"{name}.o_proj", hidden, width)

    @property
    def _width(self) -> int:
        return self.heads * self.head_dim


@dataclass(frozen=True)
class LightningAttention:
    """Linear attention with a fixed decay by head (MiniMax-Text-01)."""

    heads: int
    head_dim: int

    module = "self_attn"

    @property
    def kept(self) -> Kept:
        """The matrix of every head."""
        return Kept(recurrent=self.heads * self.head_dim**2)

    def tensors(self, name: str, hidden: int) -> Iterator[Tensor]:
        """Return the weights."""
        width = self.heads * self.head_dim
        yield from linear(f"{name}.qkv_proj", 3 * width, hidden)
        yield from linear(f"{name}.output_gate", width, hidden)
        yield from linear(f"{name}.out_proj", hidden, width)
        yield norm(f"{name}.norm", width)


@dataclass(frozen=True)
class ShortConvolution:
    """A gated convolution over the last few tokens (LFM2)."""

    width: int
    kernel: int
    bias: bool

    module = "conv"

    @property
    def kept(self) -> Kept:
        """The last inputs."""
        return Kept(convolution=(self.kernel - 1) * self.width)

    def tensors(self, name: str, hidden: int) -> Iterator[Tensor]:
        """Return the weights."""
        yield from linear(f"{name}.in_proj", 3 * self.width, hidden, self.bias)
        yield plain(f"{name}.conv", self.width, self.kernel + self.bias)
        yield from linear(f"{name}.out_proj", hidden, self.width, self.bias)
