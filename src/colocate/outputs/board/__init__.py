"""A board for Grafana, and the rules for Prometheus that it draws."""
