"""One module for each target, and the pieces that several targets share."""
