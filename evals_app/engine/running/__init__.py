"""Running conversations: many at once, each graded and handed over in batches."""
