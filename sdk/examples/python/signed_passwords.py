#!/usr/bin/env python3
"""Accepts passwords that are signed and expire: SECONDS.HEX, where SECONDS is when it
ends (since 1970) and HEX is HMAC-SHA-256 of "USER SECONDS" with the secret in a file."""
import hashlib
import hmac
import time

import mortise_plugin as mortise


@mortise.authenticator("signed", version="1.0.0", config={"secret_file": ""})
class Signed:
    """Passwords that are signed and expire."""

    def __init__(self, config):
        try:
            with open(config["secret_file"], "rb") as file:
                self._secret = file.read().strip()
        except OSError as error:
            raise ValueError(f"secret_file: {error}") from error
        if not self._secret:
            raise ValueError("secret_file is empty")

    def verify_password(self, peer, user, password):
        try:
            ends, signature = password.decode().split(".")
            left = int(ends) - time.time()
        except ValueError:
            return mortise.reject("not of the form SECONDS.HEX")
        want = hmac.new(self._secret, f"{user} {ends}".encode(), hashlib.sha256).hexdigest()
        if not hmac.compare_digest(want, signature):
            return mortise.reject("bad signature")
        if left <= 0:
            return mortise.reject("expired")
        return mortise.accept(user, lifetime=left)


mortise.main()
