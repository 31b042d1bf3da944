"""Solvers that make the fields of the data type pde."""
