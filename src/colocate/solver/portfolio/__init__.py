"""What a search does with its time: a first placement, then activities that take turns."""
