"""REST, for tools outside.

`endpoint` is what every view shares; `auth` tells who asks, `permissions` what they may;
`bodies` and `parsers` read what is sent, `problems` say what is wrong with it. Each noun has its
own module of views.
"""
