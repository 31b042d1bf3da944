"""Surfaces in three dimensions, known by points on them."""
