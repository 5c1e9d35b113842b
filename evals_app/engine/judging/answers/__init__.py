"""What judges answer: asking until it can be read, verdicts, votes and evidence.

`asking` is the one loop: ask, repair once what does not match the schema, double the token limit
once, keep every call. `evidence` looks quotes up by their words and finds who said them.
"""
