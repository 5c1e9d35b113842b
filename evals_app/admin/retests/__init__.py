"""Settling whether a run is really worse: the dialog that starts it, the list, the page of one."""
