"""What happened in an execution, and what else a grader may use.

A turn notes how long the journal of the world was at its end. What changed in it, and the world before
and after, follow from the fixtures and the journal; neither is stored.
"""
