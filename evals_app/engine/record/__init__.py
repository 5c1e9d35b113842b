"""What happened in an execution, and what a grader may use besides."""
