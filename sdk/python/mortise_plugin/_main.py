"""A plugin's process from its start to its end."""

import concurrent.futures
import json
import logging
import os
import signal
import sys
import threading

import grpc

from . import _log
from ._handshake import CERTIFICATE_KEY, SOCKET_DIR_KEY, Identity
from ._instances import Instances
from ._kinds import REGISTERED
from ._services import Services

_LOG = logging.getLogger("mortise_plugin")

_MESSAGE_BYTES_MAX = 8 << 20
_THREADS = 64  # calls at once, with those that watch policies
_STREAMS_MAX = 256  # calls that wait for a thread; those beyond wait at the broker
_CLOSE_SECONDS = 2
_PARENT_SECONDS = 0.5


def run(stdout):
    """Serves on the handshake's stdout, or, without one, tells a person what this is."""
    if not REGISTERED:
        sys.exit("nothing is decorated: there is no plugin in this program")
    if stdout is None:
        introduce(sys.argv)
    _log.set_up()
    if not os.environ.get(CERTIFICATE_KEY):
        sys.exit(f"{CERTIFICATE_KEY} is not set: who may ask this plugin?")
    serve(stdout)


def introduce(argv):
    """Says what the program is; as JSON with --describe."""
    if "--describe" in argv[1:]:
        print(json.dumps([plugin.described() for plugin in REGISTERED], indent=2))
        sys.exit(0)
    name = os.path.basename(argv[0])
    print(f"{name} is a program of plugins for Mortise. A broker starts it; by itself it does nothing.\n", file=sys.stderr)
    for plugin in REGISTERED:
        print(f"  {plugin.kind:<14} {plugin.name} {plugin.version}  {plugin.summary}", file=sys.stderr)
    print(f"\n  {name} --describe says the same as JSON.", file=sys.stderr)
    sys.exit(2)


def new_server(services):
    """A gRPC server with the limits of the contract."""
    server = grpc.server(
        concurrent.futures.ThreadPoolExecutor(_THREADS),
        options=[
            ("grpc.max_receive_message_length", _MESSAGE_BYTES_MAX),
            ("grpc.max_send_message_length", _MESSAGE_BYTES_MAX),
            ("grpc.max_concurrent_streams", _STREAMS_MAX),
        ],
    )
    server.add_generic_rpc_handlers(tuple(services.handlers()))
    return server


def serve(stdout):
    """Serves until the broker says so, SIGTERM, or the broker is gone."""
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the broker's to handle
    threading.Thread(target=_watch_parent, args=(ended,), daemon=True).start()

    instances = Instances()
    server = new_server(Services(REGISTERED, instances, ended.set))
    identity = Identity()
    socket = os.path.join(os.environ.get(SOCKET_DIR_KEY) or os.environ.get("TMPDIR", "/tmp"), "s")
    credentials = grpc.ssl_server_credentials(
        [(identity.key_pem, identity.pem)],
        root_certificates=os.environ[CERTIFICATE_KEY].encode(),
        require_client_auth=True,
    )
    server.add_secure_port(f"unix:{socket}", credentials)
    server.start()
    print(identity.line(socket), file=stdout, flush=True)
    ended.wait()
    for instance in instances.ids():
        try:
            instances.drain(instance, _CLOSE_SECONDS)
        except Exception:  # noqa: BLE001: the process ends anyway
            _LOG.exception("an instance did not close")
    server.stop(0).wait(_CLOSE_SECONDS)


def _watch_parent(ended):
    """Ends when the broker is gone; on Linux the kernel is faster."""
    parent = os.getppid()
    while not ended.wait(_PARENT_SECONDS):
        if os.getppid() != parent:
            ended.set()
