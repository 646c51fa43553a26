"""The wall around system calls: no process, no signal, no network, nothing that outlives a case.

A filter of the kernel (seccomp) that a process puts on itself and can never take off. Threads are
allowed. Other calls are refused as not permitted; they do not end the program.
"""

import ctypes
import errno
import platform
import struct

from .kernel_calls import PR_SET_SECCOMP, forbid_new_privileges, prctl

CALLS = {
    "clone": (56, 220),
    "clone3": (435, 435),
    "prlimit64": (302, 261),
}
"""Calls with rules of their own, by their numbers on x86_64 and aarch64."""
REFUSED = {
    "fork": (57, None),
    "vfork": (58, None),
    "execve": (59, 221),
    "execveat": (322, 281),
    "kill": (62, 129),
    "tkill": (200, 130),
    "tgkill": (234, 131),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "pidfd_send_signal": (424, 424),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "socket": (41, 198),
    "shmget": (29, 194),
    "msgget": (68, 186),
    "semget": (64, 190),
    "mq_open": (240, 180),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "unshare": (272, 97),
    "setns": (308, 268),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "open_by_handle_at": (304, 265),
    "personality": (135, 92),
    "setpgid": (109, 154),
    "setsid": (112, 157),
    "setpriority": (141, 140),
    "ioprio_set": (251, 30),
    "sched_setaffinity": (203, 122),
    "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118),
    "sched_setattr": (314, 274),
}
ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
"""Which number of a call, and the name that the kernel gives to the architecture."""
FOREIGN_CALLS = 0x40000000
"""Calls from here on are those of a second numbering on x86_64, which would get past the rules."""

LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16
"""Where these stand in what the filter sees."""
ALLOW, REFUSE, END = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x80000000
ABSENT = 0x00050000 | errno.ENOSYS
"""As if this kernel did not have the call: the C library falls back on an older one."""
CLONE_THREAD = 0x10000


def enclose() -> None:
    """Put the filter on this process; raises OSError where the kernel has none."""
    instructions = _filter()
    code = ctypes.create_string_buffer(b"".join(instructions))
    program = ctypes.create_string_buffer(
        struct.pack("HxxxxxxP", len(instructions), ctypes.addressof(code))
    )
    forbid_new_privileges()
    prctl(PR_SET_SECCOMP, 2, ctypes.addressof(program))


def _filter() -> list[bytes]:
    if platform.machine() not in ARCHITECTURES:
        raise OSError(errno.ENOSYS, f"no filter is written for {platform.machine()}")
    column, architecture = ARCHITECTURES[platform.machine()]
    own = {name: numbers[column] for name, numbers in CALLS.items()}
    refused = [number for numbers in REFUSED.values() if (number := numbers[column]) is not None]
    return [
        _step(LOAD, ARCHITECTURE),
        _step(EQUAL, architecture, 1, 0),
        _step(RETURN, END),
        _step(LOAD, NUMBER),
        *_when(AT_LEAST, FOREIGN_CALLS, REFUSE),
        *_when(EQUAL, own["clone3"], ABSENT),
        *(step for number in refused for step in _when(EQUAL, number, REFUSE)),
        *_by_argument(own["clone"], ANY_BIT, CLONE_THREAD),
        *_by_argument(own["prlimit64"], EQUAL, 0),
        _step(RETURN, ALLOW),
    ]


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)


def _when(test: int, value: int, verdict: int) -> list[bytes]:
    return [_step(test, value, 0, 1), _step(RETURN, verdict)]


def _by_argument(number: int, test: int, value: int) -> list[bytes]:
    """Allow a call if its first argument passes a test, and refuse it if not."""
    return [
        _step(EQUAL, number, 0, 4),
        _step(LOAD, FIRST_ARGUMENT),
        _step(test, value, 0, 1),
        _step(RETURN, ALLOW),
        _step(RETURN, REFUSE),
    ]
