"""Hold conversations with agents and grade them; knows neither Django nor the queue.

Read from the top: `execution` (many conversations) uses `conversation` and `grading`, these use
`suite` (what was written) and `scoring`, these the `graders`, `agents` and `judging`, these `llm`.
At the bottom are `specs`, `record` and `basics`, which import none of the others.
"""
