"""What the archive teaches: evidence, insights, recommendations, and who checks the wording."""
