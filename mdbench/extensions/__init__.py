"""What the core does not need: each folder can be taken away, and comes in by the core's doors."""
