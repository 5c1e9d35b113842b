"""What REST and commands answer, as classes that write and describe it."""
