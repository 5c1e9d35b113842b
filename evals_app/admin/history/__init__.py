"""What happened over time: the history of a case, trends, highlights and the verdict of a suite."""
