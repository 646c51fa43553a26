"""From a Plan to what people and machines read."""
