"""The wall around system calls: no process, no signal, no network, nothing that outlives a case.

It is a filter of the kernel (seccomp) that a process puts on itself and can never take off. Threads
are allowed. The kernel refuses other calls as not permitted, which does not end the program.

The filter has two parts, since the kernel takes a fifth of a millisecond to take up a long one. The
process that forks for every case puts on the long part, which refuses what neither needs. Cases
inherit it, and add the short part, which refuses the calls that make a case.
"""

import ctypes
import errno
import platform
import struct
from functools import cache

from .kernel_calls import PR_SET_PDEATHSIG, PR_SET_SECCOMP, forbid_new_privileges, prctl

REFUSED = {
    # processes, and signals to them
    "fork": (57, None),
    "vfork": (58, None),
    "execve": (59, 221),
    "execveat": (322, 281),
    "kill": (62, 129),
    "tkill": (200, 130),
    "tgkill": (234, 131),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "setpgid": (109, 154),
    "setsid": (112, 157),
    # the memory, place and priority of processes
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "setpriority": (141, 140),
    "ioprio_set": (251, 30),
    "sched_setaffinity": (203, 122),
    "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118),
    "sched_setattr": (314, 274),
    # ways to reach other processes, now or later
    "socket": (41, 198),
    "socketpair": (53, 199),  # this and the next ones count up numbers that everybody sees
    "pipe": (22, None),
    "pipe2": (293, 59),
    "io_setup": (206, 0),
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "semget": (64, 190),
    "semop": (65, 193),
    "semtimedop": (220, 192),
    "semctl": (66, 191),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    "flock": (73, 32),
    "tee": (276, 77),  # reads a pipe that stays full
    "inotify_add_watch": (254, 27),
    "fanotify_init": (300, 262),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    # files, where Landlock does not apply: times, owners, modes, lengths, devices
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "chown": (92, None),
    "lchown": (94, None),
    "fchown": (93, 55),
    "fchownat": (260, 54),
    "utime": (132, None),
    "utimes": (235, None),
    "futimesat": (261, None),
    "utimensat": (280, 88),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "truncate": (76, 45),
    "mknod": (133, None),
    "mknodat": (259, 33),
    "open_by_handle_at": (304, 265),
    "memfd_create": (319, 279),  # memory that no limit counts
    # what is in the memory of the machine, and what its kernel notes down
    "mincore": (27, 232),
    "fadvise64": (221, 223),
    "readahead": (187, 213),
    "syslog": (103, 116),
    # the machine
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "unshare": (272, 97),
    "setns": (308, 268),
    "personality": (135, 92),
    "bpf": (321, 280),
    "sync": (162, 81),
    "syncfs": (306, 267),
}
"""Calls that are never allowed, by their numbers on x86_64 and aarch64."""
TO_MAKE_A_CASE = ("fork", "kill", "setpgid", "pipe2", "socketpair")
"""Those that the process which forks for every case makes itself, and that every case refuses."""
UNKNOWN = {
    # they tell what is in memory
    "preadv2": (327, 286),
    "pwritev2": (328, 287),
    # they tell the number of a mount, which counts up for the whole machine
    "statx": (332, 291),
    "name_to_handle_at": (303, 264),
}
"""Calls that fail as if they did not exist; there are others for what programs need of them."""
NEW_TO_MAKE_A_CASE = {"pidfd_open": 434, "close_range": 436}
"""Newer calls that it makes as well, by their numbers; to a case they do not exist."""
FIRST_NEW = 424
"""Calls from this number on (Linux 5.1 and later, the same on both) fail as if they did not exist.

The C library falls back on older ones. The same holds for calls that future kernels add, and on
x86_64 for the calls of a second numbering, which start far above.
"""
ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
"""The index of a call's number, and the kernel's identifier of the architecture."""

LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
"""Instructions of a filter, as in <linux/bpf_common.h>."""
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16
"""Their offsets in the data that the filter sees."""
ALLOW, REFUSE, END = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x80000000
ABSENT, UNSUPPORTED = 0x00050000 | errno.ENOSYS, 0x00050000 | errno.EOPNOTSUPP
"""Results of a call, as in <linux/seccomp.h>: allowed, refused, process ended, unknown call, and
one that this file system does not have."""

CLONE_THREAD = 0x10000
"""As in <linux/sched.h>: a thread of this process, not another process."""
OPEN_FLAGS_THAT_WRITE, O_TRUNC, O_TMPFILE = 3, 0x200, 0x400000
"""As in <asm-generic/fcntl.h>; the last without O_DIRECTORY, which it includes."""
FCNTL = (0, 1, 2, 3, 4, 1030, 1032)
"""To copy a file, its flags, and the size of a pipe; no locks, leases or signals."""
IOCTL = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
"""Whether it is a terminal, its size, what is left to read, blocking, and closing on exec."""

OF_A_PROCESS = 0x80000000
"""In the number of a clock: that of the processor time of some process, or of a device.

A case has no business with that of the process which serves it, and was busy while others ran.
Its own has a number without this.
"""

Test = tuple[int, int, bool]
"""A comparison, a value, and whether it must hold."""
Rule = tuple[tuple[int, int | None], int, tuple[Test, ...]]
"""The numbers of a call, the place of an argument, and its tests: it must pass any of them."""
BY_ARGUMENT: tuple[Rule, ...] = (
    ((302, 261), 0, ((EQUAL, 0, True),)),  # prlimit64: of itself
    ((228, 113), 0, ((ANY_BIT, OF_A_PROCESS, False),)),  # clock_gettime
    ((230, 115), 0, ((ANY_BIT, OF_A_PROCESS, False),)),  # clock_nanosleep
    ((222, 107), 0, ((ANY_BIT, OF_A_PROCESS, False),)),  # timer_create
    ((72, 25), 1, tuple((EQUAL, command, True) for command in FCNTL)),  # fcntl
    ((16, 29), 1, tuple((EQUAL, command, True) for command in IOCTL)),  # ioctl
    # open and openat: Landlock before its third version lets a program truncate files it may read
    ((2, None), 1, ((ANY_BIT, O_TRUNC, False), (ANY_BIT, OPEN_FLAGS_THAT_WRITE, True))),
    ((257, 56), 2, ((ANY_BIT, O_TRUNC, False), (ANY_BIT, OPEN_FLAGS_THAT_WRITE, True))),
)
"""Calls that are allowed if one of their arguments passes a test."""
FILES_WITHOUT_A_NAME = (((2, None), 1), ((257, 56), 2))
"""The numbers of open and openat, and where they have their flags.

A file that never has a name changes no folder, so nobody would see that a case has made some. But
the numbers of files count on, and the next case could read there how many.
"""
BY_ARGUMENT_IN_A_CASE: tuple[Rule, ...] = (
    ((56, 220), 0, ((ANY_BIT, CLONE_THREAD, True),)),  # clone
    ((157, 167), 0, ((EQUAL, PR_SET_PDEATHSIG, False),)),  # prctl
)
"""The same, of those that make a case."""


def enclose_all() -> None:
    """Put the long part on this process and its children; raise OSError if the kernel has none."""
    forbid_new_privileges()
    address, _memory = _prepared(_for_all())
    prctl(PR_SET_SECCOMP, 2, address)
    _short_part()


def enclose_case() -> None:
    """Put the short part on this process, which is a case from now on."""
    address, _memory = _short_part()
    prctl(PR_SET_SECCOMP, 2, address)


@cache
def _short_part() -> tuple[int, object]:
    """Return the short part as the kernel takes it; made only once, before there are cases."""
    return _prepared(_for_a_case())


def _prepared(filter_: bytes) -> tuple[int, object]:
    """Return the address of a filter, and what must stay in memory while it is taken up."""
    code = ctypes.create_string_buffer(filter_)
    length = len(filter_) // len(_step(RETURN, ALLOW))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", length, ctypes.addressof(code)))
    return ctypes.addressof(program), (program, code)


def _for_all() -> bytes:
    column = _architecture()[0]
    calls = (numbers for name, numbers in REFUSED.items() if name not in TO_MAKE_A_CASE)
    return _filter(
        *(step for number in NEW_TO_MAKE_A_CASE.values() for step in _when(EQUAL, number, ALLOW)),
        *_when(AT_LEAST, FIRST_NEW, ABSENT),
        *(step for numbers in calls for step in _when(EQUAL, numbers[column], REFUSE)),
        *(step for numbers in UNKNOWN.values() for step in _when(EQUAL, numbers[column], ABSENT)),
        *(
            step
            for numbers, argument in FILES_WITHOUT_A_NAME
            for step in _when_any_bit(numbers[column], argument, O_TMPFILE, UNSUPPORTED)
        ),
        *_tested(BY_ARGUMENT),
    )


def _for_a_case() -> bytes:
    column = _architecture()[0]
    calls = (REFUSED[name] for name in TO_MAKE_A_CASE)
    return _filter(
        *(step for number in NEW_TO_MAKE_A_CASE.values() for step in _when(EQUAL, number, ABSENT)),
        *(step for numbers in calls for step in _when(EQUAL, numbers[column], REFUSE)),
        *_tested(BY_ARGUMENT_IN_A_CASE),
    )


def _filter(*rules: bytes) -> bytes:
    """Return a filter that allows what no rule refuses, in one numbering of calls alone."""
    steps = [
        _step(LOAD, ARCHITECTURE),
        _step(EQUAL, _architecture()[1], 1, 0),
        _step(RETURN, END),
        _step(LOAD, NUMBER),
        *rules,
        _step(RETURN, ALLOW),
    ]
    return b"".join(steps)


def _architecture() -> tuple[int, int]:
    """Return the index of the numbers of calls here, and the kernel's identifier."""
    if platform.machine() not in ARCHITECTURES:
        raise OSError(errno.ENOSYS, f"no filter is written for {platform.machine()}")
    return ARCHITECTURES[platform.machine()]


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)


def _when(test: int, value: int | None, verdict: int) -> list[bytes]:
    if value is None:
        return []
    return [_step(test, value, 0, 1), _step(RETURN, verdict)]


def _when_any_bit(number: int | None, argument: int, bits: int, verdict: int) -> list[bytes]:
    """Return a verdict on a call if an argument has any of some bits; else go on with the rest."""
    if number is None:
        return []
    return [
        _step(EQUAL, number, 0, 4),
        _step(LOAD, ARGUMENTS + 8 * argument),
        _step(ANY_BIT, bits, 0, 1),
        _step(RETURN, verdict),
        _step(LOAD, NUMBER),
    ]


def _tested(rules: tuple[Rule, ...]) -> list[bytes]:
    column = _architecture()[0]
    return [
        step
        for numbers, argument, tests in rules
        for step in _by_argument(numbers[column], argument, tests)
    ]


def _by_argument(number: int | None, argument: int, tests: tuple[Test, ...]) -> list[bytes]:
    """Allow a call if its argument passes any of the tests, and refuse it if not."""
    if number is None:
        return []
    steps = [_step(EQUAL, number, 0, len(tests) + 3), _step(LOAD, ARGUMENTS + 8 * argument)]
    for place, (code, value, must_hold) in enumerate(tests):
        to_allow = len(tests) - place
        steps.append(
            _step(code, value, to_allow, 0) if must_hold else _step(code, value, 0, to_allow)
        )
    return [*steps, _step(RETURN, REFUSE), _step(RETURN, ALLOW)]
