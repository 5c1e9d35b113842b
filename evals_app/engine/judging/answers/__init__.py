"""What judges answer: asking until it can be read, verdicts, votes and evidence."""
