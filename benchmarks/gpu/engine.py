"""One engine: a model with a real shape and random weights that decodes and prefills.

Left out are rotary positions and biases, which cost next to nothing beside the weights. Layers take
turns on a few sets of weights and of KV cache, which saves memory. One round through the sets is
far larger than the L2 cache (60 MB on an H200), so every layer reads its weights from memory.
"""

from collections.abc import Callable, Sequence
from itertools import accumulate
from math import ceil
from statistics import median
from time import perf_counter

import torch
from benchmarks.gpu.limits import CAPTURED, MOST_CONTEXT, MOST_PROMPT, SLOTS
from benchmarks.gpu.pooled_loop import Piece
from benchmarks.gpu.shapes import Shape
from torch.nn import functional
from torch.nn.attention.bias import causal_lower_right

FEWEST_SETS = 4
ROUND_BYTES = 400_000_000
"""What one round through the sets of weights reads at least, several times any L2 cache."""
EPSILON = 1e-5
BURST = {"cuda": (4096, 1024, 4096), "cpu": (64, 64, 64)}
"""Rows, depth and columns of a burst's product: about 0.05 ms that fill an H200."""
TIMED_PRODUCTS = 40


class Engine:
    """A model on a device, with one CUDA graph a batch size; without CUDA, plain calls."""

    def __init__(self, shape: Shape, device: str) -> None:
        self.shape, self.device = shape, device
        self.on_gpu = device.startswith("cuda")
        self._stream = torch.cuda.current_stream() if self.on_gpu else None
        self._side = torch.cuda.Stream() if self.on_gpu else None
        # cuDNN's attention would prepare for 50 to 80 ms for every length that it has not seen yet
        torch.backends.cuda.enable_cudnn_sdp(False)
        self._graphs = torch.cuda.graph_pool_handle() if self.on_gpu else None
        sets = min(shape.layers, max(FEWEST_SETS, ceil(ROUND_BYTES / shape.layer_bytes)))
        self._sets = [self._weights() for _ in range(sets)]
        self._caches = [
            self._random(2, SLOTS, shape.kv_heads, MOST_CONTEXT, shape.head_dim)
            for _ in range(sets)
        ]
        self._vocabulary = self._random(shape.vocab, shape.hidden, fan_in=shape.hidden)
        self._norm = self._ones()
        self._ids = torch.zeros(SLOTS, dtype=torch.int64, device=device)
        self._prompt = torch.randint(0, shape.vocab, (MOST_PROMPT,), device=device)
        self._host = torch.zeros(SLOTS, dtype=torch.int64, pin_memory=self.on_gpu)
        self._tokens = self._host.numpy()
        self._tables: dict[int, list[Callable[[], None]]] = {}
        self._bursts: dict[int, Callable[[], None]] = {}
        rows, depth, columns = BURST["cuda" if self.on_gpu else "cpu"]
        self._factors = self._random(rows, depth), self._random(depth, columns)
        self._product = self._random(rows, columns)
        self._product_ms = 0.0

    def stepper(self, context: int) -> Callable[[int], None]:
        """Return what decodes one token for a batch and waits for it.

        Every request of the batch reads a cache of `context` tokens.
        """
        if context not in self._tables:
            self._tables[context] = self._capture_all(context)
        table, read = self._tables[context], self._read

        def step(batch: int) -> None:
            table[batch]()
            read(batch)

        return step

    def prefill(self, tokens: int, slot: int) -> None:
        """Prefill one prompt into a slot, and wait for its first token."""
        shape = self.shape
        stream = functional.embedding(self._prompt[:tokens], self._vocabulary)
        for layer in range(shape.layers):
            turn = layer % len(self._sets)
            first, qkv, out, second, gate_up, down = self._sets[turn]
            mixed = functional.linear(self._normed(stream, first), qkv)
            attended = self._attend_piece(mixed, turn, Piece(slot, 0, tokens))
            stream = stream + functional.linear(attended, out)
            stream = stream + self._gated(self._normed(stream, second), gate_up, down)
        self._sample(stream[-1:], slot, slot + 1)
        self._read(slot + 1)

    def mixed(self, batch: int, pieces: Sequence[Piece], context: int) -> None:
        """Decode one token for a batch and read pieces of prompts, in one step; wait for it all.

        Launched kernel by kernel: there is no graph for every number of tokens.
        """
        shape, width = self.shape, self.shape.heads * self.shape.head_dim
        ends = list(accumulate((piece.tokens for piece in pieces), initial=batch))
        prompts = self._prompt[: ends[-1] - batch]
        stream = functional.embedding(torch.cat([self._ids[:batch], prompts]), self._vocabulary)
        for layer in range(shape.layers):
            turn = layer % len(self._sets)
            first, qkv, out, second, gate_up, down = self._sets[turn]
            mixed = functional.linear(self._normed(stream, first), qkv)
            parts = [self._attend(mixed[:batch], turn, context)] if batch else []
            for piece, begin in zip(pieces, ends, strict=False):
                parts.append(self._attend_piece(mixed[begin : begin + piece.tokens], turn, piece))
            attended = torch.cat(parts).view(-1, width)
            stream = stream + functional.linear(attended, out)
            stream = stream + self._gated(self._normed(stream, second), gate_up, down)
        last = torch.cat([stream[:batch], *(stream[end - 1 : end] for end in ends[1:])])
        self._sample(last, 0, len(last))
        self._read(len(last))

    def burst(self, milliseconds: float) -> tuple[Callable[[], None], float]:
        """Return what runs matrix products for about so long and waits, and its time here and now.

        The GPU must be otherwise idle when this is called for the first time.
        """
        if not self._product_ms:
            timed = self._burst_of(TIMED_PRODUCTS)
            self._keep_running(timed, 0.3)
            self._product_ms = self._median_ms(timed) / TIMED_PRODUCTS
        products = max(1, round(milliseconds / self._product_ms))
        if products not in self._bursts:
            self._bursts[products] = self._burst_of(products)
        run = self._bursts[products]
        self._keep_running(run, 0.1)
        return run, self._median_ms(run)

    def _weights(self) -> tuple[torch.Tensor, ...]:
        shape = self.shape
        width = shape.heads * shape.head_dim
        qkv = self._random(shape.qkv_rows, shape.hidden, fan_in=shape.hidden)
        qkv[:width] *= shape.head_dim**-0.5  # the scale of attention, once for all steps
        return (
            self._ones(),
            qkv,
            self._random(shape.hidden, width, fan_in=width),
            self._ones(),
            self._random(2 * shape.ffn, shape.hidden, fan_in=shape.hidden),
            self._random(shape.hidden, shape.ffn, fan_in=shape.ffn),
        )

    def _random(self, *size: int, fan_in: int = 1) -> torch.Tensor:
        empty = torch.empty(size, dtype=torch.bfloat16, device=self.device)
        return empty.normal_(std=fan_in**-0.5)

    def _ones(self) -> torch.Tensor:
        return torch.ones(self.shape.hidden, dtype=torch.bfloat16, device=self.device)

    def _normed(self, stream: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return functional.rms_norm(stream, (self.shape.hidden,), weight, EPSILON)

    def _gated(
        self, stream: torch.Tensor, gate_up: torch.Tensor, down: torch.Tensor
    ) -> torch.Tensor:
        both = functional.linear(stream, gate_up)
        gate, up = both[:, : self.shape.ffn], both[:, self.shape.ffn :]
        return functional.linear(functional.silu(gate).mul_(up), down)

    def _sample(self, stream: torch.Tensor, start: int, stop: int) -> None:
        logits = functional.linear(self._normed(stream, self._norm), self._vocabulary)
        self._ids[start:stop].copy_(logits.argmax(dim=-1))

    def _attend(self, mixed: torch.Tensor, turn: int, context: int) -> torch.Tensor:
        """Let every request of a batch look back on its cache, and keep its new token there."""
        shape, batch = self.shape, len(mixed)
        width, grouped = shape.heads * shape.head_dim, shape.heads // shape.kv_heads
        parts = batch * shape.kv_heads
        cache = self._caches[turn]
        pairs = mixed[:, width:].view(batch, 2, shape.kv_heads, shape.head_dim)
        cache[:, :batch, :, context - 1].copy_(pairs.transpose(0, 1))
        keys, values = cache.view(2, -1, MOST_CONTEXT, shape.head_dim)[:, :parts, :context]
        queries = mixed[:, :width].reshape(parts, grouped, shape.head_dim)
        weights = torch.softmax(torch.bmm(queries, keys.transpose(1, 2)), dim=-1)
        return torch.bmm(weights, values).view(batch, width)

    def _attend_piece(self, mixed: torch.Tensor, turn: int, piece: Piece) -> torch.Tensor:
        """Let a piece of a prompt look back on itself and on what was read of it before."""
        shape, tokens = self.shape, piece.tokens
        width, grouped = shape.heads * shape.head_dim, shape.heads // shape.kv_heads
        pairs = mixed[:, width:].view(tokens, 2, shape.kv_heads, shape.head_dim)
        pairs = pairs.permute(1, 2, 0, 3)
        before = min(piece.before, max(MOST_CONTEXT - tokens, 0))
        cache = self._caches[turn][:, piece.slot]
        kept = min(tokens, MOST_CONTEXT)
        cache[:, :, before : before + kept].copy_(pairs[:, :, :kept])
        queries = mixed[:, :width].view(1, tokens, shape.heads, shape.head_dim).transpose(1, 2)
        if not before:
            attended = functional.scaled_dot_product_attention(
                queries,
                pairs[0].unsqueeze(0),
                pairs[1].unsqueeze(0),
                is_causal=True,
                scale=1.0,
                enable_gqa=True,
            )
        else:
            keys, values = cache[:, :, : before + tokens].repeat_interleave(grouped, dim=1)
            attended = functional.scaled_dot_product_attention(
                queries,
                keys.unsqueeze(0),
                values.unsqueeze(0),
                attn_mask=causal_lower_right(tokens, before + tokens),
                scale=1.0,
            )
        return attended.transpose(1, 2).reshape(tokens, width)

    def _decode(self, batch: int, context: int) -> None:
        shape = self.shape
        stream = functional.embedding(self._ids[:batch], self._vocabulary)
        for layer in range(shape.layers):
            turn = layer % len(self._sets)
            first, qkv, out, second, gate_up, down = self._sets[turn]
            mixed = functional.linear(self._normed(stream, first), qkv)
            attended = self._attend(mixed, turn, context)
            stream = stream + functional.linear(attended, out)
            stream = stream + self._gated(self._normed(stream, second), gate_up, down)
        self._sample(stream, 0, batch)

    def _capture_all(self, context: int) -> list[Callable[[], None]]:
        """One entry for every batch, each in the smallest graph that holds it."""
        made = {
            size: self._captured(lambda size=size: self._decode(size, context))
            for size in reversed(CAPTURED)
        }
        smallest = [next(size for size in CAPTURED if size >= batch) for batch in range(SLOTS + 1)]
        return [made[size] for size in smallest]

    def _captured(self, work: Callable[[], None]) -> Callable[[], None]:
        """Return the work as a CUDA graph that has run once; without CUDA the work itself."""
        if not self.on_gpu:
            work()
            return work
        self._side.wait_stream(self._stream)
        with torch.cuda.stream(self._side):
            work()
            work()
        self._stream.wait_stream(self._side)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._graphs, stream=self._side):
            work()
        graph.replay()
        torch.cuda.synchronize()
        return graph.replay

    def _read(self, batch: int) -> list[int]:
        """Wait for the sampled tokens, as an engine does that has to send them."""
        self._host.copy_(self._ids, non_blocking=True)
        if self._stream is not None:
            self._stream.synchronize()
        return self._tokens[:batch].tolist()

    def _burst_of(self, products: int) -> Callable[[], None]:
        def work() -> None:
            for _ in range(products):
                torch.mm(*self._factors, out=self._product)

        replay, read = self._captured(work), self._read

        def run() -> None:
            replay()
            read(1)

        return run

    def _keep_running(self, run: Callable[[], None], seconds: float) -> None:
        """Bring the clocks up."""
        end = perf_counter() + seconds
        while perf_counter() < end:
            run()

    def _median_ms(self, run: Callable[[], None]) -> float:
        times = []
        for _ in range(15):
            begin = perf_counter()
            run()
            times.append(perf_counter() - begin)
        return median(times) * 1000
