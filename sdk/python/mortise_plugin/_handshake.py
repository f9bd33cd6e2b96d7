"""What a broker and this process tell each other before they can talk.

The protocol of go-plugin 1.8: core version 1, gRPC, AutoMTLS.
"""

import base64
import datetime
import os
import sys

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

COOKIE_KEY = "MORTISE_PLUGIN"
COOKIE_VALUE = "c0a1e5ce-plugin-of-mortise"
CERTIFICATE_KEY = "PLUGIN_CLIENT_CERT"
SOCKET_DIR_KEY = "PLUGIN_UNIX_SOCKET_DIR"

_CORE_VERSION = 1
_PROTOCOL_VERSION = 1
_VALID_DAYS = 30 * 365


def keep_stdout():
    """Keeps standard output for the handshake and points it at standard error for all else."""
    kept = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return kept


class Identity:
    """A certificate and its key, made for one life of this process. P-256: every TLS takes it."""

    def __init__(self):
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
        now = datetime.datetime.now(datetime.timezone.utc)
        usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        certificate = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(days=_VALID_DAYS))
            .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
            .sign(key, hashes.SHA256())
        )
        self.key_pem = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        self.pem = certificate.public_bytes(serialization.Encoding.PEM)
        self._der = certificate.public_bytes(serialization.Encoding.DER)

    def line(self, socket):
        """The handshake: what the broker reads first from standard output."""
        der = base64.b64encode(self._der).decode().rstrip("=")
        return f"{_CORE_VERSION}|{_PROTOCOL_VERSION}|unix|{socket}|grpc|{der}"
