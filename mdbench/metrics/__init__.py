"""Metrics: how they are declared, and numbers from arrays."""
