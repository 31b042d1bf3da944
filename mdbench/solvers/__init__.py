"""What turns a system into arrays."""
