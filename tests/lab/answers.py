"""A parent program, and answers to it in the forms that language models give them."""

PARENT = '''"""A small program."""

MEMORY = 80

# EVOLVE-BLOCK-START
def load(model):
    return model.req_rate / model.slo


def compute_model_placement(gpu_num, models):
    """Deal the models out."""
    placement = {gpu: [] for gpu in range(gpu_num)}
    for number, model in enumerate(models):
        placement[number % gpu_num].append(model)
    return placement
# EVOLVE-BLOCK-END


def total(models):
    return sum(load(model) for model in models)
'''

DEAL = "    for number, model in enumerate(models):"
SORTED = "    for number, model in enumerate(sorted(models, key=load)):"
RATIO = "    return model.req_rate / model.slo"
GUARDED = "    return model.req_rate / max(model.slo, 1e-9)"

CHILD = PARENT.replace(DEAL, SORTED)
BOTH = CHILD.replace(RATIO, GUARDED)
INSIDE = CHILD.split("START\n")[1].split("# EVOLVE")[0]

HEAD = "<NAME>\nsort_first\n</NAME>\n<DESCRIPTION>\nTake the lightest first.\n</DESCRIPTION>\n"


def block(search, replacement):
    told = [*search.split("\n"), "=======", *([replacement] if replacement else [])]
    return "\n".join(["<<<<<<< SEARCH", *told, ">>>>>>> REPLACE"])


def diff(*blocks):
    return "\n".join(["<DIFF>", *blocks, "</DIFF>"])


ONE = block(DEAL, SORTED)
TWO = block(RATIO, GUARDED)
