"""The pages of executions, and making a case of one."""
