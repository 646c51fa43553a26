"""What all pages and pictures share."""
