"""Reviews of the archive: evidence, insights, recommendations, and the check of a wording."""
