"""The verbs with their options: a module is imported when a verb of it is typed."""
