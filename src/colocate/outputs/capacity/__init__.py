"""An answer about capacity as a table, as a picture, and as JSON."""
