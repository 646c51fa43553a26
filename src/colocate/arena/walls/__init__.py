"""The walls around programs from outside: sandboxes, what they see, and what starts them."""
