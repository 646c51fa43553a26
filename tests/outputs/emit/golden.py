"""What every target makes of one realistic plan, word for word.

`python -m tests.outputs.emit.golden` writes the files again; read the difference before you keep
it.
"""

from colocate.outputs.emit.catalogue import emit
from colocate.outputs.emit.cluster import KubernetesSettings, parse_weights
from colocate.outputs.emit.emission import write_files
from colocate.outputs.emit.settings import (
    EmitSettings,
    Engine,
    Memory,
    Share,
    Sharing,
    Target,
    TimeSlice,
)
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
    "kubernetes-pod-mps": (
        Target.KUBERNETES,
        EmitSettings(
            share=Share.POD,
            sharing=Sharing.MPS,
            load_gb_per_second=1.0,
            cluster=KubernetesSettings("models", parse_weights("new-claim:500Gi:fast")),
        ),
    ),
    "kubernetes-slices": (
        Target.KUBERNETES,
        EmitSettings(
            time_slice=TimeSlice.LONG,
            cluster=KubernetesSettings("models", parse_weights("host:/srv/huggingface")),
        ),
    ),
    "compose-mps": (Target.COMPOSE, EmitSettings(sharing=Sharing.MPS)),
    "vllm-mps": (Target.VLLM, EmitSettings(sharing=Sharing.MPS)),
    "systemd": (Target.SYSTEMD, EmitSettings()),
    "systemd-sglang-mps": (
        Target.SYSTEMD,
        EmitSettings(engine=Engine.SGLANG, sharing=Sharing.MPS, venv="/opt/sglang"),
    ),
    "ray": (Target.RAY, EmitSettings()),
    "ray-mps": (Target.RAY, EmitSettings(sharing=Sharing.MPS)),
    "kvcached-mps": (Target.KVCACHED, EmitSettings(sharing=Sharing.MPS)),
    "sglang-mps": (Target.SGLANG, EmitSettings(sharing=Sharing.MPS)),
    "systemd-mps": (Target.SYSTEMD, EmitSettings(sharing=Sharing.MPS)),
    "kubernetes-mps": (Target.KUBERNETES, EmitSettings(sharing=Sharing.MPS)),
    "kubernetes-env-mps": (
        Target.KUBERNETES,
        EmitSettings(share=Share.ENV, sharing=Sharing.MPS),
    ),
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
