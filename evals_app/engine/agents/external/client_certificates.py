"""Client certificates of agents over HTTPS, read from the environment and never stored.

A variable has the content of a PEM file, or the path of one.
"""

import os
import ssl
import tempfile
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from evals_app.engine.agents.headers import read_variable
from evals_app.engine.basics.errors import ConfigurationError
from evals_app.engine.specs.sending_spec import CertificateSpec

_BEGIN = "-----BEGIN "
_KEEPS = 32  # contexts: each takes 50 ms to make


def certificate_context(
    spec: CertificateSpec, *, urls: Iterable[str], environ: Mapping[str, str] = os.environ
) -> ssl.SSLContext:
    """Return what connections to these addresses are made with.

    Raises:
        ConfigurationError: certificate, key or password cannot be used.
    """
    places = list(urls)
    texts = {
        name: read_variable(value.env, places, environ) for name, value in spec.variables.items()
    }
    pem = _pem(spec.certificate.env, texts["certificate"])
    key = pem if spec.key is None else _pem(spec.key.env, texts["key"])
    password = texts.get("password")
    _check(spec, pem, key, password)
    return _context(pem, "" if key == pem else key, password)


def _pem(variable: str, text: str) -> str:
    """Return the content of a PEM file, which a variable has or names."""
    if not text.startswith(_BEGIN):
        try:
            text = Path(text).read_text(encoding="ascii", errors="replace")
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or "it is not a path"
            raise ConfigurationError(
                f"{variable} has neither the content of a PEM file ({_BEGIN}...) nor the path of one"
                f" that can be read: {why}."
            ) from None
    if _BEGIN not in text:
        raise ConfigurationError(
            f"{variable} is not PEM: nothing in it begins with {_BEGIN}. Convert it, for example with"
            " openssl x509 -inform der."
        )
    return text


def _check(spec: CertificateSpec, pem: str, key_pem: str, password: str | None) -> None:
    from cryptography import x509  # noqa: PLC0415 - only agents with a certificate pay for it
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - as above

    certificate_in = spec.certificate.env
    key_in = spec.key.env if spec.key else certificate_in
    try:
        certificate = x509.load_pem_x509_certificates(pem.encode())[0]
    except ValueError:
        raise ConfigurationError(f"{certificate_in} has no certificate that can be read.") from None
    given = password.encode() if password else None
    try:
        key = serialization.load_pem_private_key(key_pem.encode(), given)
    except TypeError:  # a password is needed, or there is one that is not
        raise ConfigurationError(_about_password(spec, key_in)) from None
    except ValueError:
        raise ConfigurationError(_about_key(spec, key_in, key_pem)) from None
    if certificate.public_key() != key.public_key():
        raise ConfigurationError(
            f"The private key in {key_in} does not belong to the certificate in {certificate_in}. If"
            " that has several certificates, the client's own must be the first."
        )
    now = datetime.now(UTC)
    if certificate.not_valid_after_utc < now:
        day = certificate.not_valid_after_utc
        raise ConfigurationError(f"The certificate in {certificate_in} expired on {day:%Y-%m-%d}.")
    if certificate.not_valid_before_utc > now:
        day = certificate.not_valid_before_utc
        raise ConfigurationError(
            f"The certificate in {certificate_in} is not valid before {day:%Y-%m-%d}."
        )


def _about_password(spec: CertificateSpec, key_in: str) -> str:
    if spec.password is None:
        return (
            f"The private key in {key_in} is protected by a password. Write the variable that has it"
            " under password."
        )
    return f"The private key in {key_in} has no password. Leave password out."


def _about_key(spec: CertificateSpec, key_in: str, key_pem: str) -> str:
    if "PRIVATE KEY" not in key_pem:
        return f"{key_in} has no private key. Put it there, or write the variable that has it under key."
    if spec.password is not None:
        return f"{spec.password.env} is not the password of the private key in {key_in}."
    return f"The private key in {key_in} cannot be read."


@lru_cache(maxsize=_KEEPS)
def _context(pem: str, key: str, password: str | None) -> ssl.SSLContext:
    from evals_app.engine.network.checked_transport import new_trust  # noqa: PLC0415 - slow to import

    context = new_trust()
    # OpenSSL reads files only. This one is for this user alone, and gone at once.
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
        file.write(f"{pem}\n{key}")
        file.flush()
        try:
            context.load_cert_chain(file.name, password=password or "")
        except ssl.SSLError as error:
            raise ConfigurationError(
                f"The client certificate cannot be used: {error.reason or error}."
            ) from None
    return context
