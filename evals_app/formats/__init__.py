"""Bytes to specs and specs to bytes; one folder for each dialect.

`importing.read_files` is the way in: it reads files into plain data with places (`reading`), recognizes
each (`detect`), lets its dialect make a draft of it (`native`, `struere`, ...), and compares the drafts
with each other and with what exists (`checking`). `native.write_native` is the way out.
"""
