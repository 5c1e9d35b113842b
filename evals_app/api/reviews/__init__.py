"""Reviews, tasks to check grades, and judges compared with people, over REST."""
