"""Engines whose cache is a pool of blocks: who is admitted, who grows and who is sent back."""

from time import perf_counter

import pytest
from benchmarks.gpu.ledger import BLOCK, Ledger, blocks_of
from benchmarks.gpu.loop import Record
from benchmarks.gpu.pooled_loop import Piece, Work, run_pooled
from benchmarks.gpu.schedule import Schedule, draw_schedule
from benchmarks.gpu.summary import summarise_open


class PretendedEngine:
    """Notes what it is asked to do, and takes no time for it."""

    def __init__(self):
        self.done = []
        self.work = Work(self.done.append, self.prefill, self.mixed)

    def prefill(self, tokens, slot):
        self.done.append((tokens, slot))

    def mixed(self, batch, pieces):
        self.done.append((batch, tuple(map(tuple, pieces))))


def serve(schedule, blocks, budget=None, slots=64, prompt=32, seconds=0.1):
    engine, record = PretendedEngine(), Record(schedule, seconds)
    ledger = Ledger(blocks, slots, prompt, schedule.outputs)
    run_pooled(engine.work, record, perf_counter() + 0.005, ledger, budget)
    return engine.done, record, ledger


def test_a_request_waits_for_its_blocks():
    done, record, ledger = serve(Schedule([0.0, 0.0], [3, 2]), blocks=3)
    assert done == [(32, 0), 1, 1, (32, 0), 1]
    assert list(record.finished) == [0, 1]
    assert ledger.free == 3


def test_who_came_last_is_sent_back_and_reads_again_what_it_had_made():
    # Two prompts of two blocks fill the pool of four. The first step needs a block for each.
    done, record, ledger = serve(Schedule([0.0, 0.0], [3, 20]), blocks=4)
    assert done[:5] == [(32, 0), (32, 1), 1, 1, (33, 0)]
    assert record.sent_back == [1]
    assert done.count(1) == 2 + 18
    assert record.finished.keys() == {0, 1}
    assert (ledger.free, ledger.least_free) == (4, 0)
    assert summarise_open(record, raw=True)["raw_requests_s"][1][-2:] == [20, 1]


def test_pieces_of_prompts_fill_the_budget_of_a_step():
    done, record, _ = serve(Schedule([0.0, 0.0, 0.0], [3, 4, 2]), 100, budget=64, prompt=48)
    first = (0, ((0, 0, 48), (1, 0, 16)))
    assert done == [first, (1, ((1, 16, 32), (2, 0, 31))), (2, ((2, 31, 17),)), 2, 1]
    assert list(record.finished) == [0, 2, 1]
    assert [step[:2] for step in record.mixed] == [(0, 64), (1, 63), (2, 17)]


def test_a_prompt_that_is_read_in_part_is_sent_back_first():
    ledger = Ledger(4, 8, 32, [30, 30])
    ledger.waiting.extend([0, 1])
    assert (ledger.admit(), ledger.admit()) == (0, 1)
    ledger.join(0)
    assert ledger.grow(reading=1)
    assert (ledger.running, list(ledger.waiting), ledger.free) == ([0], [1], 1)


def test_a_pool_that_could_never_hold_a_request_is_refused():
    with pytest.raises(ValueError, match="a request needs 5 blocks, expected at most 4, the pool"):
        Ledger(4, 8, 32, [34])
    Ledger(4, 8, 32, [33])


@pytest.mark.parametrize("budget", [None, 64, 200])
def test_no_block_is_lost_and_every_token_is_made(budget):
    drawn = draw_schedule([7, 0], 4000, 0.01, 60)
    blocks = blocks_of(100 + max(drawn.outputs)) + 3
    done, record, ledger = serve(drawn, blocks, budget, slots=6, prompt=100, seconds=0.5)
    assert len(record.finished) == len(drawn.outputs) > 20
    assert ledger.free == blocks
    assert ledger.least_free >= 0
    assert ledger.made == drawn.outputs
    assert record.sent_back
    assert max((act for act in done if isinstance(act, int)), default=1) <= 6
    for batch, tokens, _ in record.mixed:
        assert batch + tokens <= budget


def test_a_piece_is_what_the_engine_takes():
    assert Piece(slot=1, before=2, tokens=3) == (1, 2, 3)
    assert [blocks_of(tokens) for tokens in (0, 1, BLOCK, BLOCK + 1)] == [0, 1, 1, 2]
