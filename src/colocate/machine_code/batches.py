"""Compiling what is asked for, in two processes where that is quicker."""

import pickle
import sys
from collections.abc import Callable
from subprocess import DEVNULL, PIPE, Popen
from typing import Any

from colocate.machine_code.compiler import compiled, signature_of
from colocate.machine_code.library import add
from colocate.machine_code.request import Request

def compile_requests(requests: list[Request]) -> None:
    wishes = {r.name: (r.function, signature_of(r)) for r in requests}
    add(compiled(wishes))
