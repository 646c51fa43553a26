"""Shapes of models, from the `config.json` that each publisher gives on its model page."""

from dataclasses import dataclass

BYTES_PER_WEIGHT = 2
"""Weights and cache are bf16."""


@dataclass(frozen=True)
class Shape:
    """What decides how long a model computes and how much it reads."""

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    vocab: int
    tied: bool

    @property
    def qkv_rows(self) -> int:
        """Rows of the fused projection to queries, keys and values."""
        return (self.heads + 2 * self.kv_heads) * self.head_dim

    @property
    def layer_bytes(self) -> int:
        """Weights of one layer."""
        attention = self.qkv_rows + self.heads * self.head_dim
        return self.hidden * (attention + 3 * self.ffn) * BYTES_PER_WEIGHT

    @property
    def weight_bytes(self) -> int:
        """Weights of the whole model, as a real engine would hold them."""
        tables = 1 if self.tied else 2
        return self.layers * self.layer_bytes + tables * self.vocab * self.hidden * BYTES_PER_WEIGHT


SHAPES = {
    "llama-3.1-8b": Shape(32, 4096, 32, 8, 128, 14336, 128256, tied=False),
    "llama-3.2-1b": Shape(16, 2048, 32, 8, 64, 8192, 128256, tied=True),
    "llama-3.2-3b": Shape(28, 3072, 24, 8, 128, 8192, 128256, tied=True),
    "qwen2.5-0.5b": Shape(24, 896, 14, 2, 64, 4864, 151936, tied=True),
    "qwen2.5-1.5b": Shape(28, 1536, 12, 2, 128, 8960, 151936, tied=True),
    "qwen2.5-7b": Shape(28, 3584, 28, 4, 128, 18944, 152064, tied=False),
    "qwen2.5-14b": Shape(48, 5120, 40, 8, 128, 13824, 152064, tied=False),
    "tiny": Shape(2, 64, 4, 2, 16, 128, 256, tied=True),
}
"""`tiny` is no real model: it tries the harness where there is no GPU."""
