"""The messages of mortise.plugin.v1.

They are read from contract.binpb, which `make proto` writes, and not from generated
code: generated code works with one range of versions of protobuf only, and a plugin
shares its interpreter with whatever else its author imports.
"""

import importlib.resources

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_PACKAGE = "mortise.plugin.v1"


class _Contract:
    def __init__(self):
        data = importlib.resources.files(__package__).joinpath("contract.binpb").read_bytes()
        self._pool = descriptor_pool.DescriptorPool()
        for file in descriptor_pb2.FileDescriptorSet.FromString(data).file:
            self._pool.Add(file)

    def message(self, name):
        """The class of a message."""
        return message_factory.GetMessageClass(self._pool.FindMessageTypeByName(f"{_PACKAGE}.{name}"))

    def methods(self, service):
        """(name, class of question, class of answer, stream of questions, stream of answers) of a service."""
        for m in self._pool.FindServiceByName(f"{_PACKAGE}.{service}").methods:
            question, answer = (message_factory.GetMessageClass(t) for t in (m.input_type, m.output_type))
            yield m.name, question, answer, m.client_streaming, m.server_streaming


CONTRACT = _Contract()


def full_name(service):
    """A service as it is called on the wire."""
    return f"{_PACKAGE}.{service}"
