"""Errors of plugins, and what they are to the broker."""

import grpc


class Unavailable(Exception):
    """Something that the plugin needs is away; asking again later may help."""


class Drained(Exception):
    """There is no such instance, or nobody may ask it any more."""


class Refused(Exception):
    """A config that can't be used; the text is for its author."""


class BadAnswer(Exception):
    """A plugin's code answered what its contract does not allow."""


_CODES = (
    (Refused, grpc.StatusCode.INVALID_ARGUMENT),
    (Unavailable, grpc.StatusCode.ABORTED),
    (Drained, grpc.StatusCode.FAILED_PRECONDITION),
    (NotImplementedError, grpc.StatusCode.UNIMPLEMENTED),
    (BadAnswer, grpc.StatusCode.OUT_OF_RANGE),
    (TimeoutError, grpc.StatusCode.DEADLINE_EXCEEDED),
)

_TEXT_BYTES_MAX = 1024


def status_of(error):
    """The gRPC code and text of an exception."""
    text = (str(error) or type(error).__name__).encode("utf-8", "replace")[:_TEXT_BYTES_MAX].decode("utf-8", "ignore")
    for kind, code in _CODES:
        if isinstance(error, kind):
            return code, text
    return grpc.StatusCode.UNKNOWN, text
