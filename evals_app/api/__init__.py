"""REST, for tools outside.

`endpoint` is the base of all views; `auth` identifies the caller, `permissions` check their rights;
`bodies` and `parsers` read requests, `problems` report errors. Each noun has its own module of
views.
"""
