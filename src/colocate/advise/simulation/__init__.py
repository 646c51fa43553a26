"""What users of placements would feel, replayed: several seeds, several ways to place models."""
