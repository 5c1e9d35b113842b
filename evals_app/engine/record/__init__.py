"""What happened in an execution, and what else a grader may use."""
