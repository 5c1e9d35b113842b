"""What readers of other systems' files share.

A reader validates files with private models of the other system's shape and translates them into
our words. It notes where each part was written, so that our own validation reports at the author's
line. It gets all documents of its dialect at once, because they name each other, and reads other
files only through `ReaderContext`: files of the same import, or in the imported folders. What cannot
be translated is a loss, with the number of checks that are lost with it.
"""
