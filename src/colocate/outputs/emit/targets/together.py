"""What starts an engine in a container under MPS, beside the others that share its GPUs.

Neither compose nor Kubernetes restarts containers together: `restartPolicyRules` of Kubernetes can,
with `RestartAllContainers`, from 1.36 on. So a small program starts each engine and writes down in
a folder that they share which generation it belongs to. An engine that ends, or that starts for a
second time, begins a new generation. The others see it, let their engines finish, and end too, so
that all of them are started again.
"""

from collections.abc import Sequence

from colocate.outputs.emit.engines.mps import STOP_SECONDS, ProcessShare

_TOGETHER = """\
import fcntl, os, pathlib, signal, subprocess, sys, time, urllib.request as web
folder, name, stop, first, processes, total, wait, count, *rest = sys.argv[1:]
folder, urls, command = pathlib.Path(folder), rest[: int(count)], rest[int(count) :]
folder.mkdir(parents=True, exist_ok=True)
mark, engine, stopped = folder / "generation", None, False

def generation():
    return int(mark.read_text()) if mark.exists() else 0

def pass_on(*_):
    global stopped
    if engine is None:
        sys.exit(143)
    stopped = True
    engine.terminate()

def leave(reason):
    print(f"{name}: {reason}; all engines that share its GPUs restart", flush=True)
    if engine is not None and engine.poll() is None:
        engine.terminate()
        try:
            engine.wait(float(stop))
        except subprocess.TimeoutExpired:
            engine.kill()
    sys.exit(1)

def begin_next(number):
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if generation() == number:
            new = folder / "new"
            new.write_text(str(number + 1))
            new.replace(mark)

def pin():
    cores = {}
    for cpu in os.sched_getaffinity(0):
        place = pathlib.Path(f"/sys/devices/system/cpu/cpu{cpu}")
        node = sorted(path.name for path in place.glob("node[0-9]*"))
        core = place / "topology/core_id"
        cores[cpu] = (node, int(core.read_text()) if core.exists() else cpu, cpu)
    cpus = sorted(cores, key=cores.get)
    if len(cpus) < os.cpu_count() or len(cpus) < int(total):
        print(f"{name} is not pinned: it has {len(cpus)} CPUs", flush=True)
        return
    start, end = (n * len(cpus) // int(total) for n in (int(first), int(first) + int(processes)))
    os.sched_setaffinity(0, cpus[start:end])

signal.signal(signal.SIGTERM, pass_on)
mine = generation()
if (folder / f"{mine}.{name}").exists():
    begin_next(mine)
    mine = generation()
(folder / f"{mine}.{name}").touch()
deadline = time.monotonic() + float(wait)
while urls:
    try:
        web.urlopen(urls[0], timeout=5)
        print(urls.pop(0), "answers", flush=True)
    except OSError as error:
        if generation() != mine:
            leave("one of its neighbours has ended")
        if time.monotonic() > deadline:
            sys.exit(f"{urls[0]} does not answer: {error}")
        time.sleep(2)
pipes = os.environ.get("CUDA_MPS_PIPE_DIRECTORY")
for _ in range(60):
    if not pipes or pathlib.Path(pipes, "control").exists():
        break
    time.sleep(1)
else:
    sys.exit(f"MPS does not run: {pipes} has no control")
pin()
engine = subprocess.Popen(command)
while engine.poll() is None:
    if generation() != mine:
        leave("one of its neighbours has ended")
    time.sleep(1)
if stopped:
    sys.exit(abs(engine.returncode))
begin_next(mine)
leave(f"its engine has ended with {engine.returncode}")
"""


def together(
    folder: str,
    name: str,
    share: ProcessShare,
    after: Sequence[str] = (),
    seconds: int = 0,
) -> list[str]:
    """Return the words to put before the command of an engine.

    Parameters
    ----------
    folder
        A folder that the engines which share its GPUs share, and no others.
    name
        What it is called.
    share
        Which part of the machine's cores it gets, unless its container has only some.
    after
        Where the engines before it on its GPUs say that they are well.
    seconds
        How long those may take.
    """
    numbers = [str(STOP_SECONDS), *share.words, str(seconds), str(len(after))]
    return ["python3", "-c", _TOGETHER, folder, name, *numbers, *after]
