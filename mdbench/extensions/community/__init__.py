"""Results of many people: registries of bundles, audits, the board, proofs of verdicts.

What a board has follows from the set of bundles and audits alone, in whatever order they came.
See docs/sharing.md.
"""
