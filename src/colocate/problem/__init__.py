"""What is decided: pure data and arithmetic."""
