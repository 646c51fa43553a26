from colocate.machine_code.request import KernelRequest
from colocate.machine_code.shares import shared_out

HEAVY = [
    KernelRequest("colocate.solver.improve.regroup", "regroup", ()),
    KernelRequest("colocate.solver.construct.bisection", "bisect", ()),
]
LIGHT = [
    KernelRequest("colocate.problem.layout", "empty", ()),
    KernelRequest("colocate.solver.construct.volume", "volume_bound", ()),
]


def test_each_request_goes_to_one_process():
    shares = shared_out([*LIGHT, *HEAVY], 2)
    assert sorted(request.kernel for share in shares for request in share) == [
        "bisect",
        "empty",
        "regroup",
        "volume_bound",
    ]


def test_what_takes_long_is_done_side_by_side():
    first, second = shared_out([*LIGHT, *HEAVY], 2)
    assert (HEAVY[0] in first) != (HEAVY[0] in second)
    assert (HEAVY[0] in first) != (HEAVY[1] in first)


def test_one_request_needs_one_process():
    assert shared_out(HEAVY[:1], 2) == [HEAVY[:1]]
