"""Ordinary differential equations."""
