"""Bytes to specs and specs to bytes; one module for each dialect.

`importing.read_files` is the way in: it reads the YAML (`yaml_source`), recognises each file
(`detect`), lets its dialect make a draft of it (`native`, `struere`), and compares the drafts with
each other and with what exists (`references`). `native.write_native` is the way out.
"""
