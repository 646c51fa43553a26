"""Alike weights of a model: how many, how large, and whether a quantisation touches them."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum


class TensorRole(StrEnum):
    """What a weight is for, which decides whether a quantisation touches it."""

    LINEAR = "linear"
    EXPERT = "expert"
    PLAIN = "plain"
    """The head, norms, biases and routers: never quantised."""
    TABLE = "table"
    """Embeddings: never quantised either, and looked up in, not multiplied by."""


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


def plain(name: str, outputs: int, inputs: int = 1, copies: int = 1) -> Tensor:
    """Return weights that are never quantised.

    Parameters
    ----------
    name
        Of the module.
    outputs, inputs
        Of one matrix.
    copies
        How many there are; a token meets all of them.
    """
    return Tensor(name, TensorRole.PLAIN, outputs, inputs, copies, copies)


def table(name: str, rows: int, width: int) -> Tensor:
    """Return embeddings.

    Parameters
    ----------
    name
        Of the module.
    rows, width
        How many there are, and how wide each is.
    """
    return Tensor(name, TensorRole.TABLE, rows, width)


def linear(name: str, outputs: int, inputs: int, bias: bool = False) -> Iterator[Tensor]:
    """Return a matrix, and its bias where it has one.

    Parameters
    ----------
    name
        Of the module.
    outputs, inputs
        Of the matrix.
    bias
        Whether a number is added to each output.
    """
    yield Tensor(name, TensorRole.LINEAR, outputs, inputs)
    if bias:
        yield plain(name, outputs)


def norm(name: str, width: int, bias: bool = False) -> Tensor:
    """Return the weights of a norm.

    Parameters
    ----------
    name
        Of the module.
    width
        Of what it evens out.
    bias
        Whether it adds a number as well.
    """
    return plain(name, 2 * width if bias else width)
