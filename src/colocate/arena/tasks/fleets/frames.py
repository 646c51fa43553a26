"""How compositions of our blocks become programs for fleet tasks."""

import ast

from colocate.arena.source.program_tree import module_tree
from colocate.arena.tasks.frame import Frame
from colocate.arena.tasks.start import start_program


def _functions(program: str, without: str) -> str:
    """Return the constants and functions of a program, except one, without their types."""
    tree = module_tree(program)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        if isinstance(node, ast.arg):
            node.annotation = None
    kept = [
        part
        for part in tree.body
        if isinstance(part, ast.FunctionDef | ast.Assign) and without != getattr(part, "name", "")
    ]
    return "\n\n\n".join(map(ast.unparse, kept))


WINDOWS = Frame(
    '''\
def place_models(gpus, models):
    """Return the name of a GPU for the name of every model."""
    sizes = [float(model["size_gb"]) for model in models]
    loads = [[float(load) for load in model["load"]] for model in models]
    memories = [float(gpu["memory_gb"]) for gpu in gpus]
    instance = Instance(sizes, loads, memories, use=[], limit=[], kind=[], rules=None)
    strategy = Strategy("composition", "", STARTS, EACH, FINISH)
    gpu_of = strategy.run(instance, np.random.default_rng(SEED))
    if gpu_of is None:
        raise ValueError(f"found no room for all of {len(models)} models on {len(gpus)} GPUs")
    return {model["name"]: gpus[gpu]["name"] for model, gpu in zip(models, gpu_of)}''',
    windows=True,
    slower=4.0,
)
"""Blocks that know time windows."""

COPIES = Frame(
    '''\
LOOSER = (1.0, 1.05, 1.12, 1.25)


def parted(instance, layout, gpu, gone, come):
    """Return whether a GPU has no other copy of the same model, once an item is gone."""
    other = layout.first[gpu]
    while other != NOWHERE:
        if other != gone and instance.rules[other] == instance.rules[come]:
            return False
        other = layout.after[other]
    return True


def fewest_copies(models, largest, target):
    """Return how many copies each model needs, so that one fits on a GPU at a target."""
    found = []
    for model in models:
        most = target * (largest - model["size_gb"])
        needed = -int(-model["load"] * (1 - 1e-9) // most) if most > 0 else model["most_copies"]
        found.append(min(max(needed, 1), model["most_copies"]))
    return found


def lowest_target(gpus, models, largest):
    """Return the load of all models for each GB that their fewest copies leave free."""
    target, memory = 0.0, sum(gpu["memory_gb"] for gpu in gpus)
    copies = [1] * len(models)
    for _ in range(20):
        held = sum(model["size_gb"] * count for model, count in zip(models, copies))
        target = max(target, sum(model["load"] for model in models) / max(memory - held, 1e-9))
        copies = fewest_copies(models, largest, target)
    return target


def placed_copies(gpus, models, copies):
    """Return the highest pressure with so many copies, and the GPUs of every model."""
    items = [number for number, count in enumerate(copies) for _ in range(count)]
    held = [models[n]["size_gb"] + models[n]["least_cache_gb"] for n in items]
    instance = Instance(
        size=[float(models[n]["size_gb"]) for n in items],
        load=[[models[n]["load"] / copies[n]] for n in items],
        capacity=[float(gpu["memory_gb"]) for gpu in gpus],
        use=[[[float(gb)] for gb in held]],
        limit=[[float(gpu["memory_gb"])] for gpu in gpus],
        kind=[0] * len(gpus),
        rules=items,
    )
    strategy = Strategy("composition", "", STARTS, EACH, FINISH)
    gpu_of = strategy.run(instance, np.random.default_rng(SEED))
    if gpu_of is None:
        return inf, {}
    load, free = [0.0] * len(gpus), [gpu["memory_gb"] for gpu in gpus]
    found = {model["name"]: [] for model in models}
    for n, gpu in zip(items, gpu_of):
        load[gpu] += models[n]["load"] / copies[n]
        free[gpu] -= models[n]["size_gb"]
        found[models[n]["name"]].append(gpus[gpu]["name"])
    return max(w / gb if gb > 0 else inf for w, gb in zip(load, free)), found


def place_models(gpus, models):
    """Return the names of its GPUs for the name of every model."""
    largest = max(gpu["memory_gb"] for gpu in gpus)
    target = lowest_target(gpus, models, largest)
    counts = [fewest_copies(models, largest, times * target) for times in LOOSER]
    tried = [each for number, each in enumerate(counts) if each not in counts[:number]]
    results = [placed_copies(gpus, models, each) for each in tried]
    peak, found = min(results, key=lambda result: result[0])
    if peak == inf:
        raise ValueError(f"found no room for all of {len(models)} models on {len(gpus)} GPUs")
    return found''',
    windows=True,
    copies=True,
    slower=3.0,
)
"""Blocks place copies; before them, a rule decides how many of each model there are."""

LATENCY = Frame(
    "from math import log\n\n\n"
    + _functions(start_program("fleet_latency"), without="place_models")
    + '''


EVALUATIONS = 60


def surrogate(gpus, models):
    """Return an instance whose loads are the time that models need, by the time they have."""
    kind = gpus[0]["kind"]
    load = []
    for model in models:
        engine = model["engines"][kind]
        need = model["output_tokens"] * engine["step_s"] + engine["prefill_s"]
        load.append([model["rate"] * need * engine["step_s"] / model["target_s"]])
    kinds = {gpu["kind"] for gpu in gpus}
    slowest = {each: max(model["engines"][each]["step_s"] for model in models) for each in kinds}
    sizes = [float(model["size_gb"]) for model in models]
    rooms = [gpu["memory_gb"] * slowest[kind] / slowest[gpu["kind"]] for gpu in gpus]
    return Instance(sizes, load, rooms, use=[], limit=[], kind=[], rules=None)


def exchanges(groups, worst):
    """Yield what two GPUs hold after a model of the worst one moves, or is swapped."""
    for gpu, group in enumerate(groups):
        for gone in [None, *group] if gpu != worst else ():
            for model in groups[worst]:
                here = [other for other in groups[worst] if other is not model]
                there = [other for other in group if other is not gone]
                yield gpu, [*here, gone] if gone else here, [*there, model]


def relieved(gpus, groups):
    """Move models off the worst GPU, or swap them, as long as the worst ratio falls."""
    ratios = [worst_ratio(gpu, group) for gpu, group in zip(gpus, groups)]
    left = EVALUATIONS
    better = True
    while better and left > 0:
        better = False
        worst = max(range(len(gpus)), key=ratios.__getitem__)
        for gpu, here, there in exchanges(groups, worst):
            left -= 1
            after = worst_ratio(gpus[gpu], there)
            if after < ratios[worst] * (1 - 1e-9):
                left -= 1
                rest = worst_ratio(gpus[worst], here)
                if rest < ratios[worst] * (1 - 1e-9):
                    groups[gpu], groups[worst] = there, here
                    ratios[gpu], ratios[worst] = after, rest
                    better = True
                    break
            if left <= 0:
                break
    return groups


def place_models(gpus, models):
    """Return the name of a GPU for the name of every model."""
    strategy = Strategy("composition", "", STARTS, EACH, FINISH)
    gpu_of = strategy.run(surrogate(gpus, models), np.random.default_rng(SEED))
    if gpu_of is None:
        raise ValueError(f"found no room for all of {len(models)} models on {len(gpus)} GPUs")
    groups = [[m for m, place in zip(models, gpu_of) if place == gpu] for gpu in range(len(gpus))]
    groups = relieved(gpus, groups)
    return {m["name"]: gpu["name"] for gpu, group in zip(gpus, groups) for m in group}''',
    windows=True,
    slower=4.0,
)
"""Blocks that place by the time that models need, then a descent by the law itself."""
