"""What one problem leaves open: which models sleep, and how many replicas the others have."""
