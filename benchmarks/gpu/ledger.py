"""Who holds which blocks of an engine's KV cache, who waits, and who is sent back.

As in vLLM: a request is admitted, in order of arrival, when a slot and the blocks for all that it
has to read are free. It takes one more block whenever its last one is full. If there is none, the
request that was admitted last loses its blocks and goes to the front of the queue. Its prompt and
what it had made are read again later.
"""

from collections import deque
from collections.abc import Sequence

BLOCK = 16
"""Tokens of a block."""


def blocks_of(tokens: int) -> int:
    """Return the blocks that hold so many tokens."""
    return -(-tokens // BLOCK)


class Ledger:
    """Requests of one engine, in its queue and in its slots.

    Parameters
    ----------
    blocks, slots
        What the engine has.
    prompt
        Tokens of every prompt.
    outputs
        Tokens that each request asks for.
    """

    def __init__(self, blocks: int, slots: int, prompt: int, outputs: Sequence[int]) -> None:
        most = blocks_of(prompt + max(outputs, default=1) - 1)
        if most > blocks:
            raise ValueError(f"a request needs {most} blocks, expected at most {blocks}, the pool")
        self.free, self._slots, self._prompt, self._outputs = blocks, slots, prompt, outputs
        self.waiting: deque[int] = deque()
        self.running: list[int] = []
        """In order of admission; the last is sent back first."""
        self.made = [0] * len(outputs)
        self._held = [0] * len(outputs)
        self.sent_back: list[int] = []
        """Requests that lost their blocks, once for every time."""
        self.least_free = blocks

    def to_read(self, number: int) -> int:
        """Return the tokens that a request has to read when it is admitted."""
        return self._prompt + self.made[number]

    def admit(self, others: int = 0) -> int | None:
        """Give the first in the queue its blocks; None where it has to wait.

        Parameters
        ----------
        others
            Requests that have a slot and do not decode yet.
        """
        if not self.waiting or len(self.running) + others >= self._slots:
            return None
        needed = blocks_of(self.to_read(self.waiting[0]))
        if needed > self.free:
            return None
        number = self.waiting.popleft()
        self._take(number, needed)
        return number

    def grow(self, reading: int | None = None) -> bool:
        """Take the blocks that a step needs; return whether the one that reads was sent back.

        Parameters
        ----------
        reading
            A request whose prompt has been read in part: it came last, so it is the first to go.
        """
        lost = False
        while self._needed() > self.free:
            if reading is not None and not lost:
                self._send_back(reading)
                lost = True
            else:
                self._send_back(self.running.pop())
        for number in self.running:
            needed = blocks_of(self.to_read(number)) - self._held[number]
            if needed:
                self._take(number, needed)
        return lost

    def join(self, number: int) -> bool:
        """Let a request decode whose prompt was read; return whether it is done with that."""
        self.made[number] += 1
        self.running.append(number)
        return self._leaves(number)

    def step(self) -> list[int]:
        """Let all that decode make a token; return those that are done."""
        for number in self.running:
            self.made[number] += 1
        return [number for number in list(self.running) if self._leaves(number)]

    def _needed(self) -> int:
        return sum(blocks_of(self.to_read(each)) - self._held[each] for each in self.running)

    def _take(self, number: int, blocks: int) -> None:
        self._held[number] += blocks
        self.free -= blocks
        self.least_free = min(self.least_free, self.free)

    def _send_back(self, number: int) -> None:
        self._take(number, -self._held[number])
        self.waiting.appendleft(number)
        self.sent_back.append(number)

    def _leaves(self, number: int) -> bool:
        if self.made[number] < self._outputs[number]:
            return False
        self.running.remove(number)
        self._take(number, -self._held[number])
        return True
