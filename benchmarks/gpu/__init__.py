"""What engines that share one GPU do to each other, measured."""
