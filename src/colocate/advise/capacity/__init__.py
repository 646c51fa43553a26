"""How few GPUs, or how cheap a mix of them, are enough."""
