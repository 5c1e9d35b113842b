"""What has no equal here."""


class LostError(Exception):
    """Something that has no equal here; the message says what to do instead."""
