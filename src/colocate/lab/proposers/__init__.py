"""Who proposes changes to programs."""
