"""What engines really hold, from the logs of their start."""
