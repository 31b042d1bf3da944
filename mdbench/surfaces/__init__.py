"""Shapes: what a surface is, points on it, how far two of them are apart, and how they are moved.

A surface is explicit, ``z = f(x, y)``; parametric, ``(x, y, z)(u, v)``; or implicit, where
``F(x, y, z) = 0``.  Nothing here knows of methods, tasks or records.
"""
