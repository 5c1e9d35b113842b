"""Certificates for tests: an authority, and what it signs, as PEM."""

import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Pair:
    """A certificate and its key, as PEM."""

    certificate: str
    key: str

    @property
    def both(self) -> str:
        return self.certificate + self.key


class Authority:
    """Signs certificates. `folder` keeps the files that servers and clients read."""

    def __init__(self, folder: Path, name: str = "Test authority") -> None:
        self._folder = folder
        self._name = name
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.certificate = self._signed(name, self._key, is_authority=True)
        self.path = folder / f"{name}.pem"
        self.path.write_text(self.certificate)

    def sign(self, name: str, *, days: int = 1, password: str = "") -> Pair:
        """Return a certificate that is valid until so many days from now."""
        key = ec.generate_private_key(ec.SECP256R1())
        secret: serialization.KeySerializationEncryption = serialization.NoEncryption()
        if password:
            secret = serialization.BestAvailableEncryption(password.encode())
        pem = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, secret
        )
        return Pair(self._signed(name, key, days=days), pem.decode())

    def server_context(self) -> ssl.SSLContext:
        """Return the context of a server on this machine that asks for a client certificate."""
        path = self._folder / "server.pem"
        path.write_text(self.sign("127.0.0.1").both)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(self.path))
        context.load_cert_chain(path)
        context.verify_mode = ssl.CERT_REQUIRED
        return context

    def _signed(
        self,
        name: str,
        key: ec.EllipticCurvePrivateKey,
        *,
        days: int = 1,
        is_authority: bool = False,
    ) -> str:
        now = datetime.now(UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
            .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, self._name)]))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now + timedelta(days=days - 2))
            .not_valid_after(now + timedelta(days=days))
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        )
        if not is_authority:
            host = x509.IPAddress(IPv4Address("127.0.0.1"))
            builder = builder.add_extension(x509.SubjectAlternativeName([host]), critical=False)
        signed = builder.sign(self._key, hashes.SHA256())
        return signed.public_bytes(serialization.Encoding.PEM).decode()
