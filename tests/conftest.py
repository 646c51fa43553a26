import signal

from hypothesis import HealthCheck, settings

from colocate import STRATEGIES, Gpu, Model, Problem, place
from colocate.machine_code.entry import compiled_together
from colocate.solver.warm_up import warm_up
from tests.campaign import LONG
from tests.simulate.drawn_fleets import simulate_once

settings.register_profile(
    "project",
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("project")


def pytest_configure(config):
    """Let tests interrupt what they start, and compile kernels before several processes need them.

    A shell that starts the tests in the background lets them, and all that they start, ignore that
    somebody presses Ctrl-C.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput"):
        gpus, model = [Gpu("a", 80), Gpu("b", 80)], Model("m", 1, load=1)
        warm_up(Problem(gpus, [model, Model("s", 1, load=1, sleep_cost=1)], most_models=2))
        with compiled_together():
            for name in STRATEGIES:
                place(Problem(gpus, [model, Model("n", 2, load=2)]), name)
            simulate_once()


def pytest_collection_modifyitems(items):
    """Begin with the tests that wait longest, so that no process is left alone with them."""
    items.sort(key=lambda item: "cli/test_lab.py" not in item.nodeid)


def pytest_terminal_summary(terminalreporter):
    if not LONG:
        terminalreporter.write_line(
            "left out: long tests, and nine tenths of every random campaign (make test-long)"
        )
