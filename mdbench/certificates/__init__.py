"""Proofs that a verdict on an answer is right, which a small program checks by itself."""
