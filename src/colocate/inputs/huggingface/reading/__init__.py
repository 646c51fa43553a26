"""From the fields of a config to the shape of the model."""
