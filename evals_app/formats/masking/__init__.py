"""Masks personal data in conversations before anything of them is stored.

`masker.py` is the way in. The other modules find one kind of thing each, by rules; what they cannot
see is said in the guide.
"""
