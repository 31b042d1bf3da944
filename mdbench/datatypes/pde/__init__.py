"""Partial differential equations, known by a sampled field."""
