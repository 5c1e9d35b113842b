"""Grading the stored conversations of a run again.

It is a run like any other, with the same leases, money and end. Each execution names its source,
whose transcript is read and never copied. A judge that is asked the identical question gets the
stored answer, unless the run measures noise. Such a run is never whole, appears in no trend, and no
forecast learns from it.
"""
