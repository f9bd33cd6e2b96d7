"""Decorators that make plugins, and the values that plugins answer with."""

import dataclasses
import inspect

from ._instances import Plugin

# Verdicts of authorizers, by the numbers of the contract. Zero denies.
DENY, ALLOW, ABSTAIN = 0, 1, 2

# Outcomes of authenticators. Zero rejects.
_REJECT, _ACCEPT = 0, 1

REGISTERED = []  # what was decorated in this process, in order


@dataclasses.dataclass(frozen=True)
class Result:
    """Who a client is. The nonce of the question is added to it."""

    outcome: int
    name: str = ""
    type: str = ""
    groups: tuple = ()
    lifetime: float = 0  # seconds until the client must authenticate anew; 0: no limit
    cache: float = 0  # seconds for which the acceptance may be remembered, at most 60
    reason: str = ""  # for the broker's log


def accept(name, *, type="User", groups=(), lifetime=0, cache=0, reason=""):
    """The client is this one."""
    return Result(_ACCEPT, name, type, tuple(groups), lifetime, cache, reason)


def reject(reason=""):
    """The credential is wrong. Raise Unavailable if it could not be checked."""
    return Result(_REJECT, reason=reason)


@dataclasses.dataclass(frozen=True)
class ScramCredential:
    """What a SCRAM server knows about one user (RFC 5802), and who that is."""

    salt: bytes
    iterations: int
    stored_key: bytes
    server_key: bytes
    principal: Result


def _decorator(kind, name, version, summary, features, config):
    """Registers a function or a class. A function gets the config as its last argument if there is one."""
    defaults = dict(config or {})

    def register(what):
        if inspect.isclass(what):
            takes_config = bool(inspect.signature(what).parameters)
            make = what if takes_config else (lambda config: what())
        elif defaults:
            make = lambda config: (lambda *question: what(*question, config))  # noqa: E731
        else:
            make = lambda config: what  # noqa: E731
        text = summary or (inspect.getdoc(what) or "").partition("\n")[0]
        found = [feature for method, feature in _FEATURES.get(kind, ()) if hasattr(what, method)]
        REGISTERED.append(Plugin(kind, name, version, text, [*features, *found], defaults, make))
        return what

    return register


# Features that a class has by having the method.
_FEATURES = {
    "authenticator": (
        ("verify_password", "password"),
        ("scram_credential", "scram"),
        ("validate_token", "token"),
        ("map_certificate", "certificate"),
    ),
    "authorizer": (("set_rules", "store"),),
}


def partitioner(name, *, version, summary="", features=("deterministic",), config=None):
    """Decorates (topic, key, partitions) -> partition, or a class with such a method `partition`.

    The key is bytes or None. The answer is from 0 to partitions-1; None for a key that
    is None or empty and may go anywhere. The same key must get the same partition,
    unless features is empty.
    """
    return _decorator("partitioner", name, version, summary, features, config)


def authenticator(name, *, version, summary="", features=(), config=None):
    """Decorates a class with some of the methods verify_password(peer, user, password),
    scram_credential(peer, user), validate_token(peer, token), map_certificate(peer, chain).

    They answer accept(…) or reject(…); scram_credential a ScramCredential, or None for
    a user that is not known.
    """
    return _decorator("authenticator", name, version, summary, features, config)


def authorizer(name, *, version, summary="", features=(), config=None):
    """Decorates (client, action) -> verdict, or a class with such a method `authorize`.

    The answer is ALLOW, DENY or ABSTAIN, or (verdict, seconds) if it may be remembered.
    A class may also have authorize_by_resource_type(client, operation, resource), which
    else denies; watch(ended), which yields (epoch, rules or None) until the event
    `ended` is set; and set_rules(epoch, rules).
    """
    return _decorator("authorizer", name, version, summary, features, config)


def retention(name, *, version, summary="", features=(), config=None):
    """Decorates (log) -> how many of its oldest segments may go, or a class with such a
    method `decide`. The answer may be (number, reason). With the feature topics there is
    a second argument: all topics of the round with their bytes.
    """
    return _decorator("retention", name, version, summary, features, config)
