"""What every target makes of one realistic plan, word for word.

`python -m tests.outputs.emit.golden` writes the files again; read the difference before you keep
it.
"""

from colocate.outputs.emit.settings import Engine, Memory, Settings, Share, Target
from colocate.outputs.emit.targets import emit
from colocate.outputs.emit.write import write_files
from tests.outputs.emit.plans import DATA, realistic_plan

CASES = {
    "vllm": (Target.VLLM, Settings()),
    "vllm-kvcached": (Target.VLLM, Settings(memory=Memory.KVCACHED)),
    "sglang": (Target.SGLANG, Settings()),
    "kvcached": (Target.KVCACHED, Settings()),
    "compose": (Target.COMPOSE, Settings()),
    "compose-sglang": (Target.COMPOSE, Settings(engine=Engine.SGLANG)),
    "kubernetes-dra": (Target.KUBERNETES, Settings()),
    "kubernetes-env": (Target.KUBERNETES, Settings(share=Share.ENV)),
    "ray": (Target.RAY, Settings()),
}


def emission(case):
    target, settings = CASES[case]
    return emit(target, *realistic_plan(), settings)


if __name__ == "__main__":
    for case in CASES:
        for path in write_files(DATA / case, emission(case).files):
            print(path.relative_to(DATA))
