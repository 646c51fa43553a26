"""Where programs are judged: on this machine, or on a Ray cluster."""
