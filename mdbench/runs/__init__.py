"""From what the user asks for to records: plan, jobs, attempts, choices."""
