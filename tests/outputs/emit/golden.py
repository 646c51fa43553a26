"""What every target makes of one realistic plan, word for word.

`python -m tests.outputs.emit.golden` writes the files again; read the difference before you keep
it.
"""

from colocate.outputs.emit.catalogue import emit
from colocate.outputs.emit.settings import EmitSettings, Engine, Memory, Share, Target
from colocate.outputs.emit.write import write_files
from tests.outputs.emit.plans import DATA, realistic_plan

CASES = {
    "vllm": (Target.VLLM, EmitSettings()),
    "vllm-kvcached": (Target.VLLM, EmitSettings(memory=Memory.KVCACHED)),
    "sglang": (Target.SGLANG, EmitSettings()),
    "kvcached": (Target.KVCACHED, EmitSettings()),
    "compose": (Target.COMPOSE, EmitSettings()),
    "compose-sglang": (Target.COMPOSE, EmitSettings(engine=Engine.SGLANG)),
    "kubernetes-dra": (Target.KUBERNETES, EmitSettings()),
    "kubernetes-env": (Target.KUBERNETES, EmitSettings(share=Share.ENV)),
    "ray": (Target.RAY, EmitSettings()),
}


def emission(case):
    target, settings = CASES[case]
    return emit(target, *realistic_plan(), settings)


def all_files(case):
    found = emission(case)
    return [*found.files, *found.companions]


if __name__ == "__main__":
    for case in CASES:
        for path in write_files(DATA / case, all_files(case)):
            print(path.relative_to(DATA))
