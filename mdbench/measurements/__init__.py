"""Measured tables: reading them, the laws that people found in them, folds, and dimensions."""
