"""Cases of `fleet-windows`: GPUs of five sizes, and loads in six time windows."""

from numpy.random import RandomState

from colocate.arena.tasks.fleets.planted import PRESSURE, FleetCase, planted_case, shares
from colocate.problem.gpu import Gpu
from colocate.problem.model import Model
from colocate.problem.problem import Problem

MEMORIES_GB = (24, 40, 48, 80, 141)
"""Of RTX 4090, A100-40, L40S, H100 and H200, by their data sheets."""
OFTEN = (0.1, 0.15, 0.25, 0.35, 0.15)
"""How often each is drawn."""
GPUS = (8, 13)
"""GPUs of a case: at least the first number, below the second."""
MODELS = (4, 7)
"""Models on a GPU of 80 GB; the number grows with the square root of its memory."""
USUAL_GB = 80
"""The memory of the GPU that these numbers are about."""
USED = (0.45, 0.7)
"""The lowest and highest share of a GPU's memory that models take."""
WINDOWS, FULL = 6, 2
"""Windows of a case, and in how many of them every GPU has the planted pressure. With one, the
solver is done in a second; with three, it finds few of the optima."""
QUIET = (0.6, 0.97)
"""The load of a GPU in the other windows, as a share of its highest."""


def windows_case(draw: RandomState) -> FleetCase:
    """Make one case."""
    memories = draw.choice(MEMORIES_GB, draw.randint(*GPUS), p=OFTEN).tolist()
    full = sorted(draw.permutation(WINDOWS)[:FULL].tolist())
    stated: list[tuple[int, list[int], int]] = []
    for gpu, memory in enumerate(memories):
        count = max(2, round(draw.randint(*MODELS) * (memory / USUAL_GB) ** 0.5))
        sizes = shares(draw, int(memory * draw.uniform(*USED)), count, least=1).tolist()
        most = PRESSURE * (memory - sum(sizes))
        totals = [
            most if window in full else int(most * draw.uniform(*QUIET))
            for window in range(WINDOWS)
        ]
        loads = [shares(draw, total, count).tolist() for total in totals]
        stated += zip(sizes, map(list, zip(*loads, strict=True)), [gpu] * count, strict=True)
    rows = [stated[place] for place in draw.permutation(len(stated)).tolist()]
    gpus = tuple(Gpu(f"gpu-{number}", memory) for number, memory in enumerate(memories))
    models = tuple(Model(f"model-{n}", size, load=load) for n, (size, load, _) in enumerate(rows))
    placement = {model.name: [f"gpu-{row[2]}"] for model, row in zip(models, rows, strict=True)}
    return planted_case(Problem(gpus, models), placement, full[0])
