"""The GPUs of machines, from what their tools print."""
