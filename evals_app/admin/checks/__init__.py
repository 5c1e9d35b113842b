"""Writing checks: picking a kind, its options, and trying it on a reply.

A stored check is a sentence until someone opens it; only then are its inputs loaded. One that was not
opened posts `closed` and stays as stored. Labels, examples and units come from the grader's class.
"""
