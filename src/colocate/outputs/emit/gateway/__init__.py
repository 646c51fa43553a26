"""Files for clients and gateways: where every model answers."""
