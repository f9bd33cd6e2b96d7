"""The package through its gRPC services, as a broker asks them."""

import contextlib
import logging
import threading
import unittest

import grpc

import mortise_plugin as mortise
from mortise_plugin import _kinds
from mortise_plugin._contract import CONTRACT, full_name
from mortise_plugin._instances import Instances
from mortise_plugin._main import new_server
from mortise_plugin._services import Services

logging.getLogger("mortise_plugin").addHandler(logging.NullHandler())  # what fails on purpose


class Asker:
    """Asks the services of a process over a connection."""

    def __init__(self, channel):
        self._channel = channel

    def __call__(self, service, method, timeout=10, **fields):
        for name, question, answer, streams_in, streams_out in CONTRACT.methods(service):
            if name == method:
                kind = {(False, False): "unary_unary", (False, True): "unary_stream", (True, False): "stream_unary"}
                make = getattr(self._channel, kind[streams_in, streams_out])
                call = make(f"/{full_name(service)}/{method}", question.SerializeToString, answer.FromString)
                asked = iter([question(**fields)]) if streams_in else question(**fields)
                return call(asked, timeout=timeout)
        raise AssertionError(f"no {service}/{method}")

    def configure(self, kind, name, instance="1", config=b""):
        self("PluginBase", "Configure", meta={"instance_id": instance}, kind=kind, name=name, config=config)

    def raw(self, method, question=b""):
        return self._channel.unary_unary(method)(question, timeout=10)


@contextlib.contextmanager
def serving(*decorators):
    """Serves what the decorators register."""
    before, shut = list(_kinds.REGISTERED), threading.Event()
    _kinds.REGISTERED.clear()
    for decorate, what in decorators:
        decorate(what)
    server = new_server(Services(list(_kinds.REGISTERED), Instances(), shut.set))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            asker = Asker(channel)
            asker.shut = shut
            yield asker
    finally:
        server.stop(0).wait()
        _kinds.REGISTERED[:] = before


class Case(unittest.TestCase):
    @contextlib.contextmanager
    def refused(self, code, text=""):
        with self.assertRaises(grpc.RpcError) as caught:
            yield
        self.assertEqual(caught.exception.code(), code)
        self.assertIn(text, caught.exception.details())


def by_length(topic, key, partitions):
    """The length of the key."""
    return len(key or b"") % partitions


BY_LENGTH = (mortise.partitioner("by-length", version="1.0.0"), by_length)


class Base(Case):
    def test_describe(self):
        with serving(BY_LENGTH) as ask:
            (info,) = ask("PluginBase", "Describe").plugins
        self.assertEqual((info.kind, info.name, info.version), ("partitioner", "by-length", "1.0.0"))
        self.assertEqual((info.summary, list(info.features)), ("The length of the key.", ["deterministic"]))

    def test_config(self):
        seen = []
        decorate = mortise.partitioner("p", version="1", config={"n": 1, "f": 0.5, "s": "x"})
        with serving((decorate, lambda topic, key, partitions, config: seen.append(config) or 0)) as ask:
            for bad, text in (
                (b"{", "not JSON"), (b"[]", "not a JSON object"), (b'{"m":1}', 'unknown key "m"'),
                (b'{"n":"1"}', "want integer"), (b'{"n":true}', "want integer"), (b'{"f":"1"}', "want number"),
            ):
                with self.subTest(bad), self.refused(grpc.StatusCode.INVALID_ARGUMENT, text):
                    ask("PluginBase", "Validate", kind="partitioner", name="p", config=bad)
            with self.refused(grpc.StatusCode.UNIMPLEMENTED):
                ask("PluginBase", "Validate", kind="partitioner", name="q")
            ask.configure("partitioner", "p", config=b'{"n":7,"f":2}')
            ask("Partitioner", "Assign", meta={"instance_id": "1"}, partitions=1, keys=b"k", key_lengths=[1])
        self.assertEqual(seen, [{"n": 7, "f": 2, "s": "x"}])

    def test_class_refuses_its_config(self):
        class Fussy:
            def __init__(self, config):
                raise ValueError("the file is not there")

        with serving((mortise.partitioner("p", version="1"), Fussy)) as ask:
            with self.refused(grpc.StatusCode.INVALID_ARGUMENT, "the file is not there"):
                ask.configure("partitioner", "p")

    def test_instances_and_drain(self):
        running, finish, closed = threading.Event(), threading.Event(), threading.Event()

        class Slow:
            def partition(self, topic, key, partitions):
                running.set()
                finish.wait(10)
                return 0

            def close(self):
                closed.set()

            def metrics(self):
                return "m 1\n"

        question = {"meta": {"instance_id": "1"}, "partitions": 1, "keys": b"k", "key_lengths": [1]}
        with serving((mortise.partitioner("p", version="1"), Slow)) as ask:
            with self.refused(grpc.StatusCode.FAILED_PRECONDITION):
                ask("Partitioner", "Assign", **question)
            ask.configure("partitioner", "p")
            with self.refused(grpc.StatusCode.UNKNOWN, "there already"):
                ask.configure("partitioner", "p")
            with self.refused(grpc.StatusCode.UNIMPLEMENTED):
                ask("Retention", "Decide", meta={"instance_id": "1"})
            self.assertEqual(ask("PluginBase", "Metrics", meta={"instance_id": "1"}).text, b"m 1\n")
            answers = []
            call = threading.Thread(target=lambda: answers.append(ask("Partitioner", "Assign", **question)))
            call.start()
            running.wait(10)
            with self.refused(grpc.StatusCode.DEADLINE_EXCEEDED):
                ask("PluginBase", "Drain", timeout=0.05, meta={"instance_id": "1"})
            with self.refused(grpc.StatusCode.FAILED_PRECONDITION):
                ask("Partitioner", "Assign", **question)
            self.assertFalse(closed.is_set())
            finish.set()
            ask("PluginBase", "Drain", meta={"instance_id": "1"})
            call.join()
            self.assertEqual(list(answers[0].partitions), [0])
            self.assertTrue(closed.is_set())
            ask("PluginBase", "Drain", meta={"instance_id": "1"})

    def test_what_go_plugin_asks(self):
        with serving(BY_LENGTH) as ask:
            self.assertEqual(ask.raw("/grpc.health.v1.Health/Check", b"\x0a\x06plugin"), b"\x08\x01")
            self.assertEqual(ask.raw("/plugin.GRPCController/Shutdown"), b"")
            self.assertTrue(ask.shut.wait(10))

    def test_errors(self):
        raised = []

        def failing(topic, key, partitions):
            raise raised[0]

        with serving((mortise.partitioner("p", version="1"), failing)) as ask:
            ask.configure("partitioner", "p")
            for error, code in (
                (mortise.Unavailable("away"), grpc.StatusCode.ABORTED),
                (ZeroDivisionError("x" * 5000), grpc.StatusCode.UNKNOWN),
                (NotImplementedError(), grpc.StatusCode.UNIMPLEMENTED),
            ):
                raised[:] = [error]
                with self.subTest(error), self.refused(code):
                    ask("Partitioner", "Assign", meta={"instance_id": "1"}, partitions=1, keys=b"k", key_lengths=[1])


class Kinds(Case):
    def test_partitioner(self):
        def choose(topic, key, partitions):
            return {None: None, b"": 0, b"far": 9, b"text": "1"}.get(key, 1)

        with serving((mortise.partitioner("p", version="1"), choose)) as ask:
            ask.configure("partitioner", "p")

            def assign(keys, lengths):
                return ask(
                    "Partitioner", "Assign", meta={"instance_id": "1"}, partitions=3, metadata_epoch=7, keys=keys, key_lengths=lengths
                )

            answer = assign(b"ab", [-1, 0, 2])
            self.assertEqual((list(answer.partitions), answer.metadata_epoch), ([-1, 0, 1], 7))
            for key in (b"far", b"text"):
                with self.subTest(key), self.refused(grpc.StatusCode.OUT_OF_RANGE):
                    assign(key, [len(key)])

    def test_authenticator(self):
        class Users:
            def verify_password(self, peer, user, password):
                if user == "alice" and password == b"secret":
                    return mortise.accept("alice", groups=["a"], lifetime=0.0001, cache=1.5, reason="fine")
                return {"eve": True, "bob": None}.get(user, mortise.reject("wrong"))

            def scram_credential(self, peer, user):
                if user != "alice":
                    return None
                return mortise.ScramCredential(b"salt", 4096, b"s" * 32, b"t" * 32, mortise.accept("alice"))

        with serving((mortise.authenticator("u", version="1"), Users)) as ask:
            self.assertEqual(list(ask("PluginBase", "Describe").plugins[0].features), ["password", "scram"])
            ask.configure("authenticator", "u")

            def verify(user, password=b""):
                peer = {"nonce": b"n"}
                return ask("Authenticator", "VerifyPassword", meta={"instance_id": "1"}, peer=peer, user=user, password=password).result

            alice = verify("alice", b"secret")
            self.assertEqual((alice.outcome, alice.principal_type, alice.principal_name), (1, "User", "alice"))
            self.assertEqual((alice.lifetime_ms, alice.cache_ttl_ms, alice.nonce), (1, 1500, b"n"))
            for user in ("alice", "bob"):
                self.assertEqual(verify(user).outcome, 0)
            with self.refused(grpc.StatusCode.OUT_OF_RANGE):
                verify("eve")  # True is no answer: nobody gets in by accident
            scram = ask("Authenticator", "ScramCredential", meta={"instance_id": "1"}, user="alice")
            self.assertEqual((scram.found, scram.iterations, scram.principal.principal_name), (True, 4096, "alice"))
            self.assertFalse(ask("Authenticator", "ScramCredential", meta={"instance_id": "1"}, user="bob").found)
            with self.refused(grpc.StatusCode.UNIMPLEMENTED):
                ask("Authenticator", "ValidateToken", meta={"instance_id": "1"}, token=b"t")

    def test_authorizer(self):
        def judge(client, action):
            return {"a": mortise.ALLOW, "b": (mortise.DENY, 2), "c": True, "d": None}.get(action.name, mortise.ABSTAIN)

        with serving((mortise.authorizer("j", version="1"), judge)) as ask:
            ask.configure("authorizer", "j")

            def authorize(*names):
                return ask("Authorizer", "Authorize", meta={"instance_id": "1"}, actions=[{"name": name} for name in names])

            answer = authorize("a", "b", "c", "x")
            self.assertEqual((list(answer.verdicts), list(answer.cache_ttl_ms)), ([1, 0, 1, 2], [0, 2000, 0, 0]))
            with self.refused(grpc.StatusCode.OUT_OF_RANGE):
                authorize("d")
            self.assertEqual(ask("Authorizer", "AuthorizeByResourceType", meta={"instance_id": "1"}).verdict, 0)

    def test_watch_and_rules(self):
        taken = []

        class Store:
            def authorize(self, client, action):
                return mortise.DENY

            def set_rules(self, epoch, rules):
                taken.append((epoch, len(rules)))

            def watch(self, ended):
                yield 1, None
                yield 2, []
                yield 3, [{"name": str(n)} for n in range(1025)]
                ended.wait()

        with serving((mortise.authorizer("s", version="1"), Store)) as ask:
            ask.configure("authorizer", "s")
            ask("Authorizer", "SetRules", meta={"instance_id": "1"}, epoch=9, rules=[{"name": "x"}])
            self.assertEqual(taken, [(9, 1)])
            news = ask("Authorizer", "Watch", meta={"instance_id": "1"})
            got = [(m.epoch, m.has_rules, len(m.rules), m.more) for _, m in zip(range(4), news)]
            self.assertEqual(got, [(1, False, 0, False), (2, True, 0, False), (3, True, 1024, True), (3, True, 1, False)])
            ask("PluginBase", "Drain", meta={"instance_id": "1"})
            with self.refused(grpc.StatusCode.FAILED_PRECONDITION):
                next(news)

    def test_retention(self):
        def halve(log):
            return {"all": len(log.segments), "more": len(log.segments) + 1}.get(log.topic, (1, "old"))

        with serving((mortise.retention("r", version="1"), halve)) as ask:
            ask.configure("retention", "r")

            def decide(topic):
                log = {"topic": topic, "partition": 3, "leader_epoch": 5, "segments": [{}, {}]}
                return ask("Retention", "Decide", meta={"instance_id": "1"}, logs=[log]).verdicts

            (verdict,) = decide("t")
            self.assertEqual((verdict.topic, verdict.partition, verdict.leader_epoch), ("t", 3, 5))
            self.assertEqual((verdict.delete_oldest, verdict.reason), (1, "old"))
            self.assertEqual(decide("all")[0].delete_oldest, 2)
            with self.refused(grpc.StatusCode.OUT_OF_RANGE):
                decide("more")


if __name__ == "__main__":
    unittest.main()
