"""Where text goes, and how names, amounts and tables are written."""
