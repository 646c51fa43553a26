"""Programs that frameworks are given: honest ones, and cheats that other evaluators fell for."""

from colocate.arena.tasks.catalogue import open_task

START = open_task("adrs").start_program

BETTER = '''
# EVOLVE-BLOCK-START
def compute_model_placement(gpu_num, models):
    """Bisection on the pressure, best fit decreasing on load + pressure x size."""
    low, high, best = 0.0, 10.0, None
    for _ in range(40):
        aim = (low + high) / 2
        found = packed(gpu_num, models, aim)
        if found is None:
            low = aim
        else:
            high, best = aim, found
    return best


def packed(gpu_num, models, aim):
    def weight(model):
        return model.req_rate / model.slo + aim * model.model_size

    placement = {gpu: [] for gpu in range(gpu_num)}
    room = [aim * 80] * gpu_num
    for model in sorted(models, key=weight, reverse=True):
        fitting = [gpu for gpu in placement if room[gpu] >= weight(model)]
        if not fitting:
            return None
        gpu = min(fitting, key=lambda gpu: room[gpu])
        placement[gpu].append(model)
        room[gpu] -= weight(model)
    return placement
# EVOLVE-BLOCK-END
'''

LUCKY = '''
# EVOLVE-BLOCK-START
import random

random.seed(7)


def compute_model_placement(gpu_num, models):
    """The best of a few random orders, each dealt out to the GPU with the lowest pressure."""
    return min((dealt(gpu_num, models) for _ in range(9)), key=peak)


def dealt(gpu_num, models):
    placement = {gpu: [] for gpu in range(gpu_num)}
    sizes = sorted(models, key=lambda model: (-model.model_size, random.random()))
    for model in sorted(sizes, key=lambda model: -model.model_size - 8 * random.random()):
        placement[min(placement, key=lambda gpu: pressure([*placement[gpu], model]))].append(model)
    return placement


def pressure(group):
    free = 80 - sum(model.model_size for model in group)
    return sum(model.req_rate / model.slo for model in group) / free if free > 0 else 1e9


def peak(placement):
    return max(map(pressure, placement.values()))
# EVOLVE-BLOCK-END
'''

CHEATS = {
    "leaves_out": """
# EVOLVE-BLOCK-START
def compute_model_placement(gpu_num, models):
    return {gpu: [models[gpu]] for gpu in range(gpu_num)}
# EVOLVE-BLOCK-END
""",
    "overfills": """
# EVOLVE-BLOCK-START
def compute_model_placement(gpu_num, models):
    return {0: list(models)}
# EVOLVE-BLOCK-END
""",
    "crashes": """
# EVOLVE-BLOCK-START
def compute_model_placement(gpu_num, models):
    raise ValueError("no idea")
# EVOLVE-BLOCK-END
""",
    "times_out": """
# EVOLVE-BLOCK-START
def compute_model_placement(gpu_num, models):
    while True:
        pass
# EVOLVE-BLOCK-END
""",
    "peeks": """
# EVOLVE-BLOCK-START
import glob
import os
import sys


def compute_model_placement(gpu_num, models):
    places = ("/", "/proc", "/proc/1/environ", os.path.expanduser("~"), *sys.path)
    found = [os.path.join(place, "**", "best_known", "*.csv") for place in places]
    files = [path for pattern in found for path in glob.glob(pattern, recursive=False)]
    import colocate.arena.best_known as known
    return known.read_best_known("adrs")
# EVOLVE-BLOCK-END
""",
    "lies": """
# EVOLVE-BLOCK-START
class Placement(dict):
    def __eq__(self, other):
        return True

    combined_score = score = correct = 1e9


def compute_model_placement(gpu_num, models):
    print('{"status": "success", "combined_score": 1e9, "correct": true}')
    for model in models:
        model.req_rate = 0
    return Placement({gpu: [] for gpu in range(gpu_num)})
# EVOLVE-BLOCK-END
""",
}

PROGRAMS = {"start": START, "better": BETTER, "lucky": LUCKY, **CHEATS}
"""All of them, by name."""
