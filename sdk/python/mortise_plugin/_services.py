"""The gRPC services of a plugin's process."""

import contextlib
import logging
import threading

import grpc

from . import _answers
from ._contract import CONTRACT, full_name
from ._errors import Drained, status_of

_LOG = logging.getLogger("mortise_plugin")
_API_MINOR = 0
_SDK = "python sdk 0.1.0"
_RULES_MAX = 100_000

# Kinds' services: the kind, and the function for each method with one answer.
_KINDS = {
    "Partitioner": ("partitioner", {"Assign": _answers.assign}),
    "Authenticator": (
        "authenticator",
        {
            "VerifyPassword": _answers.verify_password,
            "ScramCredential": _answers.scram_credential,
            "ValidateToken": _answers.validate_token,
            "MapCertificate": _answers.map_certificate,
        },
    ),
    "Authorizer": (
        "authorizer",
        {"Authorize": _answers.authorize, "AuthorizeByResourceType": _answers.authorize_by_resource_type},
    ),
    "Retention": ("retention", {"Decide": _answers.decide}),
}


@contextlib.contextmanager
def _mapped(context):
    """Ends a call with the status of an exception. What a plugin did not mean is logged."""
    try:
        yield
        return
    except Exception as error:  # noqa: BLE001: whatever a plugin's code raises ends its call only
        code, text = status_of(error)
        if code is grpc.StatusCode.UNKNOWN:
            _LOG.exception("a call failed")
    context.abort(code, text)


class Services:
    """Everything that the process answers."""

    def __init__(self, plugins, instances, shutdown):
        self._plugins, self._instances, self._shutdown = plugins, instances, shutdown

    def handlers(self):
        """The handlers for a gRPC server."""
        base = {name: getattr(self, name.lower()) for name in ("Describe", "Validate", "Configure", "Drain", "Metrics")}
        yield _handler("PluginBase", base)
        for service, (kind, methods) in _KINDS.items():
            bound = {name: self._unary(kind, method) for name, method in methods.items()}
            if service == "Authorizer":
                bound["Watch"], bound["SetRules"] = self.watch, self.set_rules
            yield _handler(service, bound)
        # What go-plugin asks of every plugin. Its messages are empty or constant.
        yield _raw("grpc.health.v1.Health", "Check", lambda _question, _context: b"\x08\x01")  # SERVING
        yield _raw("plugin.GRPCController", "Shutdown", self._stop)
        yield _raw("plugin.GRPCStdio", "StreamStdio", lambda _question, _context: iter(()), stream=True)

    def _stop(self, _question, _context):
        self._shutdown()
        return b""

    def _unary(self, kind, method):
        def call(question, context):
            with _mapped(context), self._instances.call(question.meta.instance_id, kind) as instance:
                return method(instance, question, context)

        return call

    def _find(self, question):
        for plugin in self._plugins:
            if (plugin.kind, plugin.name) == (question.kind, question.name):
                return plugin
        raise NotImplementedError(f"no plugin {question.kind} {question.name} here")

    def describe(self, _question, _context):
        answer = CONTRACT.message("DescribeResponse")(api_minor=_API_MINOR, sdk=_SDK)
        for plugin in self._plugins:
            answer.plugins.add(
                kind=plugin.kind, name=plugin.name, version=plugin.version, summary=plugin.summary[:256],
                features=plugin.features, schema=plugin.schema_bytes(),
            )
        return answer

    def validate(self, question, context):
        with _mapped(context):
            made = self._find(question).make(question.config)
            close = getattr(made, "close", None)
            if close is not None:
                close()
            return CONTRACT.message("ValidateResponse")()

    def configure(self, question, context):
        with _mapped(context):
            plugin = self._find(question)
            self._instances.add(question.meta.instance_id, plugin, plugin.make(question.config))
            return CONTRACT.message("ConfigureResponse")()

    def drain(self, question, context):
        with _mapped(context):
            self._instances.drain(question.meta.instance_id, context.time_remaining())
            return CONTRACT.message("DrainResponse")()

    def metrics(self, question, context):
        with _mapped(context), self._instances.call(question.meta.instance_id) as instance:
            text = getattr(instance.made, "metrics", None)
            if text is None:
                raise NotImplementedError("no metrics")
            return CONTRACT.message("MetricsResponse")(text=text().encode())

    def watch(self, question, context):
        """Ends when the asker leaves or the instance is drained."""
        ended = threading.Event()
        if not context.add_callback(ended.set):
            return
        with _mapped(context), self._instances.call(question.meta.instance_id, "authorizer") as instance:
            self._instances.tell(instance, ended)
            yield from _answers.watch(instance, question, ended)
            if instance.ending:
                raise Drained("the instance was drained")

    def set_rules(self, questions, context):
        with _mapped(context):
            first = next(questions)
            with self._instances.call(first.meta.instance_id, "authorizer") as instance:
                take = getattr(instance.made, "set_rules", None)
                if take is None:
                    raise NotImplementedError("no set_rules here")
                rules = list(first.rules)
                for question in questions:
                    rules.extend(question.rules)
                    if len(rules) > _RULES_MAX:
                        raise RuntimeError(f"question: more than {_RULES_MAX} rules")
                take(first.epoch, rules)
                return CONTRACT.message("SetRulesResponse")()


def _handler(service, methods):
    """A service of the contract; a method without a function is not implemented."""
    table = {}
    for name, question, answer, streams_in, streams_out in CONTRACT.methods(service):
        if name not in methods:
            continue
        make = {
            (False, False): grpc.unary_unary_rpc_method_handler,
            (False, True): grpc.unary_stream_rpc_method_handler,
            (True, False): grpc.stream_unary_rpc_method_handler,
        }[(streams_in, streams_out)]
        table[name] = make(methods[name], question.FromString, answer.SerializeToString)
    return grpc.method_handlers_generic_handler(full_name(service), table)


def _raw(service, name, function, stream=False):
    """A service whose messages are bytes."""
    make = grpc.unary_stream_rpc_method_handler if stream else grpc.unary_unary_rpc_method_handler
    return grpc.method_handlers_generic_handler(service, {name: make(function)})
