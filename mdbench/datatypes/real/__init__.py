"""Measured tables, the laws that people found in them, folds, and dimensions."""
