"""How a case ended, as the process that forked for it reports that: bytes of a fixed length."""

import struct

ENDING = struct.Struct("=??id???")
"""Whether it was late, and its folder overfull; its exit code, negative for a signal; the seconds
of its processor time; whether it was enclosed, changed its folder, and took the seed.

One that changed its folder without being enclosed has not run: see `inside.serve`."""
