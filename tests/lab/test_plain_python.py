import ast
from textwrap import dedent

import pytest

from colocate.lab.proposers.composer.plain_python import on_lists


def respelt(source):
    return on_lists(ast.parse(dedent(source)).body[0])


@pytest.mark.parametrize(
    ("array", "plain"),
    [
        ("NOWHERE = cast(int, np.int64(-1))", "NOWHERE = -1"),
        ("x = np.int64(Order.SIZE)", "x = int(Order.SIZE)"),
        ("x = a.b.shape[0] + load.shape[1]", "x = len(a.b) + 1"),
        ("layout.load[gpu, window] = load[row, window]", "layout.load[gpu] = load[row]"),
        ("x = instance.load[:, window].sum()", "x = sum(instance.load[:])"),
        ("order = packings[number, 1]", "order = packings[number][1]"),
        ("x = np.empty(2 * n, np.int64)", "x = [0] * (2 * n)"),
        ("x = np.zeros((g, instance.limit.shape[1]))", "x = [0.0] * g"),
        ("x = np.full(n, NOWHERE)", "x = [NOWHERE] * n"),
        ("x = np.isinf(np.exp(y)) or y == np.inf", "x = isinf(exp(y)) or y == inf"),
        (
            "x = np.argsort(keys, kind='mergesort')",
            "x = sorted(range(len(keys)), key=keys.__getitem__)",
        ),
        ("layout.use.fill(0.0)", "layout.use[:] = [0.0] * len(layout.use)"),
        ("x = np.cumsum(a)", "x = np.cumsum(a)"),
    ],
)
def test_arrays_become_lists(array, plain):
    assert respelt(array) == plain


@pytest.mark.parametrize(
    ("array", "plain"),
    [
        ("x = load.shape[1] + a.load.shape[1]", "x = len(load[0]) + len(a.load[0])"),
        (
            "layout.load[gpu, window] = load[row, window]",
            "layout.load[gpu][window] = load[row][window]",
        ),
        ("x = instance.load[:, t].sum()", "x = sum([each[t] for each in instance.load])"),
        ("x = np.zeros((g, t))", "x = [[0.0] * t for _ in range(g)]"),
        ("layout.load.fill(0.0)", "layout.load[:] = [[0.0] * len(each) for each in layout.load]"),
        ("layout.used.fill(0.0)", "layout.used[:] = [0.0] * len(layout.used)"),
        ("x = range(a.limit.shape[1])", "x = range(len(a.limit[0]))"),
        ("x = a.use[kind, model, resource]", "x = a.use[kind][model][resource]"),
        ("x = y and admits(a, b, c, d, e)", "x = y and parted(a, b, c, d, e)"),
    ],
)
def test_tasks_with_windows_and_copies_keep_them(array, plain):
    assert on_lists(ast.parse(array).body[0], windows=True, copies=True) == plain


def test_a_kernel_becomes_a_plain_function():
    kernel = '''
        @kernel
        def highest(instance: Instance, gpu: int) -> float:
            """Return the highest load.

            More about it.
            """
            kind = instance.kind[gpu]
            most: float = 0.0
            for window in range(instance.load.shape[1]):
                most = max(most, instance.load[gpu, window])
            for resource in range(instance.limit.shape[1]):
                most += instance.use[kind, gpu, resource]
            return most
    '''
    plain = '''
        def highest(instance, gpu):
            """Return the highest load."""
            most = 0.0
            most = max(most, instance.load[gpu])
            return most
    '''
    assert respelt(kernel) == dedent(plain).strip()


def test_a_loop_that_is_left_early_stays_a_loop():
    kernel = """
        def first(load):
            for window in range(load.shape[1]):
                if load[0, window]:
                    break
    """
    assert "for window in range(1):" in respelt(kernel)


def test_a_class_keeps_its_fields_and_one_line_of_its_docstring():
    block = '''
        class Layout(NamedTuple):
            """Where every model is.

            And more.
            """

            gpu_of: Ints
            """gpu_of[n]: the GPU of a model."""
            packings: tuple[Packing, ...] = ()

            def improve(self, rng: Generator) -> None:
                """Improve."""
                improve(self, rng)
    '''
    plain = '''
        class Layout(NamedTuple):
            """Where every model is."""
            gpu_of: list
            packings: tuple = ()

            def improve(self, rng):
                """Improve."""
                improve(self, rng)
    '''
    assert respelt(block) == dedent(plain).strip()


def test_what_a_call_gives_is_kept_even_if_nobody_reads_it():
    assert "found = look()" in respelt("def act():\n    found = look()\n    return 1")
