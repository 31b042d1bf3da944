"""What can be learned from data: fresh problems, the truth's rank, rivals, what noise hides."""
