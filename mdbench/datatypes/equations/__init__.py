"""Shared by all data types whose answers are equations: evaluation, selection, terms, files."""
