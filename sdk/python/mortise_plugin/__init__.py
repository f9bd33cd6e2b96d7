"""Plugins for the Mortise log broker.

Decorate functions or classes, then call main(). The README has an example of each
kind; what each owes the broker is in the numbered obligations of the Go packages
sdk/partitioner, sdk/auth and sdk/storage.
"""

import os

from ._handshake import COOKIE_KEY, COOKIE_VALUE, keep_stdout

# A broker reads one line from standard output and nothing else may be on it, whatever
# the plugin's file prints while it is loaded.
_STDOUT = keep_stdout() if os.environ.get(COOKIE_KEY) == COOKIE_VALUE else None

from ._errors import Unavailable  # noqa: E402
from ._kinds import (  # noqa: E402
    ABSTAIN,
    ALLOW,
    DENY,
    ScramCredential,
    accept,
    authenticator,
    authorizer,
    partitioner,
    reject,
    retention,
)
from ._main import run as _run  # noqa: E402

__all__ = [
    "ABSTAIN", "ALLOW", "DENY", "ScramCredential", "Unavailable", "accept", "authenticator", "authorizer", "main",
    "partitioner", "reject", "retention",
]


def main():
    """Serves everything that was decorated, and ends the process when the broker is done."""
    _run(_STDOUT)
