"""Each kind's questions to a plugin's code, and its answers as messages."""

from ._contract import CONTRACT
from ._errors import BadAnswer
from ._kinds import ALLOW, DENY, Result

_ANY = -1
_REASON_BYTES_MAX = 1024


def _method(made, name):
    """The method of a class, or the function itself."""
    return getattr(made, name, None) or made


def _optional(made, name):
    """A method that a plugin may lack."""
    method = getattr(made, name, None)
    if method is None:
        raise NotImplementedError(f"no {name} here")
    return method


def assign(instance, question, _context):
    """Partitioner/Assign."""
    partition = _method(instance.made, "partition")
    answer = CONTRACT.message("AssignResponse")(metadata_epoch=question.metadata_epoch)
    at = 0
    for length in question.key_lengths:
        key = None
        if length >= 0:
            key, at = question.keys[at : at + length], at + length
        chosen = partition(question.topic, key, question.partitions)
        if chosen is None and not key:
            chosen = _ANY
        elif not isinstance(chosen, int) or not 0 <= chosen < question.partitions:
            raise BadAnswer(f"partition {chosen!r} of {question.partitions}")
        answer.partitions.append(chosen)
    if at != len(question.keys):
        raise RuntimeError("question: bytes that belong to no key")
    return answer


def _result(peer, result):
    """A Result as a message. Anything else rejects."""
    message = CONTRACT.message("AuthResult")(nonce=peer.nonce)
    if not isinstance(result, Result):
        if result is not None:
            raise BadAnswer(f"answer {type(result).__name__}, want accept(…) or reject(…)")
        return message
    message.outcome = result.outcome
    message.principal_type, message.principal_name = result.type, result.name
    message.groups.extend(result.groups)
    # 0 means no limit, so what is shorter than a millisecond becomes one.
    message.lifetime_ms = max(int(result.lifetime * 1000), 1) if result.lifetime > 0 else 0
    message.cache_ttl_ms = max(int(result.cache * 1000), 0)
    message.reason = result.reason[:_REASON_BYTES_MAX]
    return message


def verify_password(instance, question, _context):
    """Authenticator/VerifyPassword."""
    result = _optional(instance.made, "verify_password")(question.peer, question.user, question.password)
    return CONTRACT.message("VerifyPasswordResponse")(result=_result(question.peer, result))


def validate_token(instance, question, _context):
    """Authenticator/ValidateToken."""
    result = _optional(instance.made, "validate_token")(question.peer, question.token)
    return CONTRACT.message("ValidateTokenResponse")(result=_result(question.peer, result))


def map_certificate(instance, question, _context):
    """Authenticator/MapCertificate."""
    result = _optional(instance.made, "map_certificate")(question.peer, list(question.chain))
    return CONTRACT.message("MapCertificateResponse")(result=_result(question.peer, result))


def scram_credential(instance, question, _context):
    """Authenticator/ScramCredential."""
    found = _optional(instance.made, "scram_credential")(question.peer, question.user)
    if found is None:
        return CONTRACT.message("ScramCredentialResponse")()
    return CONTRACT.message("ScramCredentialResponse")(
        found=True, salt=found.salt, iterations=found.iterations, stored_key=found.stored_key,
        server_key=found.server_key, principal=_result(question.peer, found.principal),
    )


def _verdict(answer):
    """A verdict and for how many milliseconds it may be remembered. Anything unknown is an error."""
    verdict, seconds = answer if isinstance(answer, tuple) else (answer, 0)
    if isinstance(verdict, bool):
        verdict = ALLOW if verdict else DENY
    if not isinstance(verdict, int) or not 0 <= verdict <= 2:
        raise BadAnswer(f"verdict {verdict!r}")
    return verdict, max(int(seconds * 1000), 0)


def authorize(instance, question, _context):
    """Authorizer/Authorize."""
    decide = _method(instance.made, "authorize")
    answer = CONTRACT.message("AuthorizeResponse")()
    for action in question.actions:
        verdict, ttl = _verdict(decide(question.client, action))
        answer.verdicts.append(verdict)
        answer.cache_ttl_ms.append(ttl)
    return answer


def authorize_by_resource_type(instance, question, _context):
    """Authorizer/AuthorizeByResourceType."""
    decide = getattr(instance.made, "authorize_by_resource_type", None)
    verdict, ttl = _verdict(decide(question.client, question.operation, question.resource) if decide else DENY)
    return CONTRACT.message("AuthorizeByResourceTypeResponse")(verdict=verdict, cache_ttl_ms=ttl)


_RULES_IN_MESSAGE = 1024


def watch(instance, _question, ended):
    """Authorizer/Watch. A plugin without watch has one policy for life."""
    news = getattr(instance.made, "watch", None)
    if news is None:
        yield CONTRACT.message("WatchResponse")(epoch=1)
        ended.wait()
        return
    for epoch, rules in news(ended):
        yield from _parts(epoch, rules)


def _parts(epoch, rules):
    """One event as as many messages as it needs."""
    response = CONTRACT.message("WatchResponse")
    if rules is None:
        yield response(epoch=epoch)
        return
    rules = list(rules)
    for start in range(0, max(len(rules), 1), _RULES_IN_MESSAGE):
        part = rules[start : start + _RULES_IN_MESSAGE]
        more = start + _RULES_IN_MESSAGE < len(rules)
        yield response(epoch=epoch, has_rules=True, rules=[_rule(r) for r in part], more=more)


def _rule(rule):
    """A rule may be a message or a dict of its fields."""
    return CONTRACT.message("Rule")(**rule) if isinstance(rule, dict) else rule


def decide(instance, question, _context):
    """Retention/Decide."""
    rule = _method(instance.made, "decide")
    more = (list(question.topics),) if "topics" in instance.plugin.features else ()
    answer = CONTRACT.message("DecideResponse")()
    for log in question.logs:
        verdict = rule(log, *more)
        count, reason = verdict if isinstance(verdict, tuple) else (verdict, "")
        if not isinstance(count, int) or not 0 <= count <= len(log.segments):
            raise BadAnswer(f"delete {count!r} of {len(log.segments)} segments")
        if count:
            answer.verdicts.add(
                topic=log.topic, partition=log.partition, leader_epoch=log.leader_epoch,
                delete_oldest=count, reason=reason[:_REASON_BYTES_MAX],
            )
    return answer
