"""Statistics: rates, agreement, exact tests, comparisons, retests and samples.

`comparison.change_of` is the only definition of worse, for comparisons, gates, messages, the
dashboard and retests: a case fails now, and every graded trial passed before, or Fisher's test says
that chance hardly explains the fall. Cases are matched by name, and compared only if their content
is the same. In retests the test is one-sided, because earlier trials named the direction.
"""
