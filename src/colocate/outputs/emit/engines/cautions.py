"""What a person must know before the engines of a plan are started."""

import re
from collections.abc import Iterable, Iterator, Sequence

from colocate.inputs.format_support import Maker, limits_of
from colocate.inputs.least_cache import has_no_cache
from colocate.inputs.overheads import is_pooling
from colocate.inputs.size_notes import size_notes
from colocate.outputs.emit.emission import Note, NoteKind
from colocate.outputs.emit.engines.groups import crowded_gpus
from colocate.outputs.emit.engines.launch import Fleetwide, Launch
from colocate.outputs.emit.engines.options import (
    NO_BALANCE_CHECK,
    engine_environment,
    engine_options,
)
from colocate.outputs.emit.engines.weight_formats import (
    format_name,
    full_weights_gb,
    made_while_loading,
    must_be_on_disk,
)
from colocate.outputs.emit.settings import EmitSettings, Engine
from colocate.outputs.text.format_notes import format_notes
from colocate.outputs.text.wording import listed, quoted

HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+|\.{0,2}/.*|~.*")
"""Names that can be loaded as they are: of the Hugging Face hub, or paths."""
MOST_NAMES = 5
"""Names in a note, which should stay short; the file has all of them."""
OTHER_TASK = re.compile(r"embed|rerank|retriev|(^|/)(e5|gte|bge)-", re.IGNORECASE)
"""Names of models that embed or rank; some are built like chat models."""
POOLING_ARGUMENT = {Engine.VLLM: "--runner=pooling", Engine.SGLANG: "--is-embedding"}
LOOPBACK = ("127.0.0.1", "localhost", "::1")
DEVELOPMENT = {
    Engine.VLLM: ", and use the other development endpoints of vLLM",
    Engine.SGLANG: "",
}
LESS_AT_LOADING = {
    Engine.VLLM: "Use vLLM 0.16 or newer, which needs less, or a source that is fp8 on disk.",
    Engine.SGLANG: "Use a source that is fp8 on disk.",
}


def cautions(fleetwide: Fleetwide, launches: Sequence[Launch] | None = None) -> tuple[Note, ...]:
    """Return notes on what may not start as planned.

    Parameters
    ----------
    fleetwide
        All engines.
    launches
        The engines to look at; by default all.
    """
    found = fleetwide.launches if launches is None else launches
    once = list({launch.model: launch for launch in reversed(found)}.values())[::-1]
    return (
        *_under_mps(found, fleetwide.settings),
        *_not_on_disk(once),
        *_large_at_loading(found, fleetwide.settings.engine),
        *_tight(fleetwide, found),
        *_in_float16(found, fleetwide.settings),
        *_widened(fleetwide, found),
        *_of_amd(once, fleetwide.settings),
        *_unchecked(found, fleetwide.settings),
        *_may_be_put_to_sleep(once, fleetwide.settings),
        *_without_source(once),
        *_of_other_tasks(once, fleetwide.settings.engine),
        *_of_sizes(once),
    )


def _under_mps(launches: Sequence[Launch], settings: EmitSettings) -> Iterator[Note]:
    """Say what MPS gives up, and who runs without it."""
    if not settings.mps:
        return
    shared = tuple(sorted(crowded_gpus(launches)))
    alone = tuple(launch.name for launch in launches if not launch.crowded)
    if not shared:
        text = "no GPU here has two engines, so none runs under MPS"
        yield Note(NoteKind.SHARING, text)
        return
    text = (
        "MPS gives up isolation: if an engine is killed at work, its neighbours on the GPU die of "
        "an illegal memory access, and MPS may take no new engine before all of them have ended. "
        "Let an engine finish its requests before you stop it, and restart the engines of a GPU "
        "together."
    )
    yield Note(NoteKind.ISOLATION, text, shared)
    if alone:
        one = len(alone) == 1
        run = "has its GPUs to itself and runs" if one else "have their GPUs to themselves and run"
        yield Note(NoteKind.SHARING, f"{_names(alone)} {run} without MPS", alone)
    untried = [launch.name for launch in launches if launch.crowded and launch.can_sleep]
    if settings.elastic or untried:
        what = "kvcached" if settings.elastic else "sleep"
        text = f"{what} was not tried under MPS: try it before you rely on it"
        yield Note(NoteKind.SHARING, text, tuple(untried))


def _not_on_disk(launches: Iterable[Launch]) -> Iterator[Note]:
    for launch in launches:
        spec = launch.spec
        if must_be_on_disk(spec, launch.args):
            dtype = quoted(str(spec.dtype))
            text = (
                f"model {quoted(launch.model)} needs a checkpoint that is already {dtype}, since "
                f"engines cannot make {dtype} while loading. Nothing shows that "
                f"{quoted(launch.source)} is one; if it is not, its engine takes up to "
                f"{full_weights_gb(spec):.3g} GB on each GPU instead of "
                f"{launch.share.size_gb:.3g}. Set source to such a checkpoint, or set "
                "quantised_on_disk: true if it is one."
            )
            yield Note(NoteKind.CHECKPOINT, text, (launch.model,))


def _large_at_loading(launches: Iterable[Launch], engine: Engine) -> Iterator[Note]:
    said = set()
    for launch in launches:
        needed, free = full_weights_gb(launch.spec), launch.share.free_gb
        made = made_while_loading(launch.spec, launch.args) == "fp8"
        if made and needed > free and launch.model not in said:
            said.add(launch.model)
            text = (
                f"model {quoted(launch.model)} is quantised to fp8 while it loads. That may take "
                f"up to {needed:.3g} GB on each GPU, and only {free:.3g} GB are free then. "
                f"{LESS_AT_LOADING[engine]}"
            )
            yield Note(NoteKind.LOADING, text, (launch.model,))


def _tight(fleetwide: Fleetwide, launches: Iterable[Launch]) -> Iterator[Note]:
    for gpu in dict.fromkeys(gpu for launch in launches for gpu in launch.gpus):
        room = fleetwide.rooms[gpu]
        if room.tight:
            text = (
                f"gpu {quoted(gpu)} keeps only {room.free_gb:.3g} GB free (advised: "
                f"{room.advised_gb:.3g}), so engines may run out of memory. Raise its reserve_gb."
            )
            yield Note(NoteKind.MEMORY, text, (gpu,))


def _in_float16(launches: Iterable[Launch], settings: EmitSettings) -> Iterator[Note]:
    changed: dict[tuple[str, ...], dict[str, None]] = {}
    for launch in launches:
        chosen = engine_options(launch, settings).get("dtype")
        if launch.kinds_without_bf16 and chosen == "float16" != _asked(launch):
            changed.setdefault(launch.kinds_without_bf16, {})[launch.model] = None
    for kinds, models in changed.items():
        have = "has" if len(kinds) == 1 else "have"
        run = "runs" if len(models) == 1 else "run"
        text = f"{_names(kinds)} {have} no bf16, so {_names(models)} {run} in float16 there"
        yield Note(NoteKind.FORMAT, text, tuple(models))


def _widened(fleetwide: Fleetwide, launches: Iterable[Launch]) -> Iterator[Note]:
    devices, settings = fleetwide.fleet.devices, fleetwide.settings
    kinds = {launch.name: [devices[gpu].kind for gpu in launch.gpus] for launch in launches}
    limits = [
        (launch.model, limit)
        for launch in launches
        for limit in limits_of(launch.spec, kinds[launch.name], settings.engine.value)
    ]
    for text, models in format_notes(limits, settings.engine.value):
        yield Note(NoteKind.FORMAT, text, models)


def _unchecked(launches: Iterable[Launch], settings: EmitSettings) -> Iterator[Note]:
    """Say where SGLang must not compare the free memory of its GPUs."""
    names = [
        launch.name
        for launch in launches
        if NO_BALANCE_CHECK.items() <= engine_environment(launch, settings).items()
    ]
    if names:
        text = (
            "SGLang refuses to start if one of its GPUs has less than 90% of the free memory of "
            f"another. The GPUs of {_names(names)} differ, so that check is off there "
            f"({next(iter(NO_BALANCE_CHECK))}=0): it does not notice memory that others hold."
        )
        yield Note(NoteKind.BALANCE, text, tuple(names))


def _may_be_put_to_sleep(launches: Iterable[Launch], settings: EmitSettings) -> Iterator[Note]:
    """Say who can put engines to sleep."""
    names = [launch.model for launch in launches if launch.can_sleep]
    if names and settings.host not in LOOPBACK:
        text = (
            f"anyone who reaches the engines of {_names(names)} can put them to sleep"
            f"{DEVELOPMENT[settings.engine]}. Let users reach a gateway only: nginx.conf and "
            "litellm.yaml do not forward this."
        )
        yield Note(NoteKind.SLEEP, text, tuple(names))


def _of_amd(launches: Sequence[Launch], settings: EmitSettings) -> Iterator[Note]:
    """Say what GPUs of AMD do not have."""
    of_amd = [launch.model for launch in launches if launch.maker is Maker.AMD]
    if of_amd and settings.elastic:
        text = (
            "kvcached has no packages for GPUs of AMD: build it from source against ROCm. It then "
            "keeps its cache in another layout (KVCACHED_CONTIGUOUS_LAYOUT=false), by itself."
        )
        yield Note(NoteKind.MAKER, text, tuple(of_amd))
    if of_amd and settings.image and len(of_amd) < len(launches):
        text = f"--image {settings.image} is for all engines, on GPUs of NVIDIA and of AMD alike"
        yield Note(NoteKind.MAKER, text, tuple(of_amd))
    if of_amd and settings.engine is Engine.SGLANG:
        may = [la.model for la in launches if la.spec.may_sleep and not la.can_sleep]
        if may:
            text = f"SGLang cannot sleep on GPUs of AMD, so {_names(may)} always stay awake there"
            yield Note(NoteKind.MAKER, text, tuple(of_amd))


def _asked(launch: Launch) -> str:
    return "float16" if format_name(launch.spec.dtype) == "fp16" else ""


def _without_source(launches: Iterable[Launch]) -> Iterator[Note]:
    missing = [
        launch.model
        for launch in launches
        if launch.spec.source is None and not HUB_NAME.fullmatch(launch.model)
    ]
    if len(missing) == 1:
        text = (
            f"{_names(missing)} has no source, so its engine loads that name, which is neither a "
            "path nor a name of the Hugging Face hub (org/model). Set source in the fleet file."
        )
        yield Note(NoteKind.SOURCE, text, tuple(missing))
    elif missing:
        text = (
            f"{_names(missing)} have no source, so their engines load these names, which are "
            "neither paths nor names of the Hugging Face hub (org/model). Set source in the fleet "
            "file."
        )
        yield Note(NoteKind.SOURCE, text, tuple(missing))


def _of_other_tasks(launches: Iterable[Launch], engine: Engine) -> Iterator[Note]:
    """Say which models embed or rank, while their engines would answer chats."""
    for launch in launches:
        if OTHER_TASK.search(launch.source) and not (
            has_no_cache(launch.spec) or is_pooling(launch.args)
        ):
            text = (
                f"model {quoted(launch.model)} loads {quoted(launch.source)}, which embeds or "
                f"ranks texts by its name. Its engine would answer chats: add "
                f"{POOLING_ARGUMENT[engine]} to its args, and what its card asks for."
            )
            yield Note(NoteKind.TASK, text, (launch.model,))


def _of_sizes(launches: Sequence[Launch]) -> Iterator[Note]:
    """Repeat what was assumed or left out when models were sized."""
    for text, models in size_notes(launch.spec for launch in launches).items():
        yield Note(NoteKind.SIZE, f"{_names(models)}: {text}", tuple(models))


def _names(names: Iterable[str]) -> str:
    return listed([quoted(name) for name in names], MOST_NAMES)
