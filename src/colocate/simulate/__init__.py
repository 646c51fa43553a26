"""What users of a placement would feel, replayed request by request."""
