"""Files into rows: uploads, what they may change, and the bundled examples.

`file_import` reads and compares without a lock, because the operator's own code may take its time.
Then one transaction writes, if nothing that was compared has changed. A dry run is the same without
the last step. Each row stores the digest of what an import last wrote: if it no longer matches, a
person has edited the row, and only an import that says so replaces it.

`rights` says what may be imported in a person's name, before anything is read. `sources` knows the
file that a suite came from; another file replaces it only with `--replace`.
"""
