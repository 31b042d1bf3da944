"""Registries: folders of bundles of many people, of which one board is made.

What a board has follows from the set of bundles and audits alone, in whatever order they came.
See docs/registry.md.
"""
