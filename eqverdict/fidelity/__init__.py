"""Whether an answer is the ground truth: the rule of docs/fidelity.md."""
