"""How a search spends its time: on a first placement, then on activities that take turns."""
