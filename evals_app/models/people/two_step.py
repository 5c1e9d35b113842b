"""The second step of signing in: a code of an app on a phone, or a recovery code.

django-otp keeps the key of the app and refuses a code that was used before. Of recovery codes it gets
a digest only.
"""

import secrets
from base64 import b32encode

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.crypto import salted_hmac
from django_otp import verify_token
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

PASSED = "two_steps"  # in a session that needs no code any more
_APP, _RECOVERY = "App", "Recovery codes"
_RECOVERY_CODES = 10
_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # without those that look alike


def has_two_steps(person: User) -> bool:
    """Whether a person is asked for a code after their password."""
    return bool(TOTPDevice.objects.filter(user=person, confirmed=True).exists())


def app_to_confirm(person: User) -> TOTPDevice:
    """Return the key that an app is to learn; it counts once a code of it was right."""
    device, _ = TOTPDevice.objects.get_or_create(user=person, confirmed=False, name=_APP)
    return device


def key_in_groups(device: TOTPDevice) -> str:
    """Return the key of an app, to be typed."""
    key = b32encode(device.bin_key).decode()
    return " ".join(key[start : start + 4] for start in range(0, len(key), 4))


def turn_on(person: User, code: str) -> list[str]:
    """Ask for codes from now on, if this is one of the app; return recovery codes, else nothing."""
    device = app_to_confirm(person)
    if not verify_token(person, device.persistent_id, _plain(code)):
        return []
    with transaction.atomic():
        TOTPDevice.objects.filter(user=person).exclude(pk=device.pk).delete()
        TOTPDevice.objects.filter(pk=device.pk).update(confirmed=True)
        return new_recovery_codes(person)


@transaction.atomic
def new_recovery_codes(person: User) -> list[str]:
    """Replace the recovery codes of a person."""
    StaticDevice.objects.filter(user=person).delete()
    device = StaticDevice.objects.create(user=person, name=_RECOVERY)
    codes = [_random_code() for _ in range(_RECOVERY_CODES)]
    StaticToken.objects.bulk_create(
        StaticToken(device=device, token=_digest(person, _plain(code))) for code in codes
    )
    return codes


def recovery_codes_left(person: User) -> int:
    """Return how many recovery codes were not used."""
    return int(StaticToken.objects.filter(device__user=person).count())


def is_right(person: User, code: str) -> bool:
    """Whether this is a code of their app, or one of their recovery codes; either works once."""
    plain = _plain(code)
    devices = [
        *((app, plain) for app in TOTPDevice.objects.filter(user=person, confirmed=True)),
        *((paper, _digest(person, plain)) for paper in StaticDevice.objects.filter(user=person)),
    ]
    return any(verify_token(person, device.persistent_id, token) for device, token in devices)


def turn_off(person: User) -> None:
    """Ask for no code any more."""
    TOTPDevice.objects.filter(user=person).delete()
    StaticDevice.objects.filter(user=person).delete()


def _random_code() -> str:
    letters = "".join(secrets.choice(_LETTERS) for _ in range(10))
    return f"{letters[:5]}-{letters[5:]}"


def _plain(code: str) -> str:
    return "".join(letter for letter in code.lower() if letter.isalnum())[:40]


def _digest(person: User, plain: str) -> str:
    return salted_hmac("recovery code", f"{person.pk} {plain}", algorithm="sha256").hexdigest()[:16]
