"""Claims of papers in a form that records can be held against."""
