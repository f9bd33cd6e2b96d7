"""Plugins and their instances in this process."""

import contextlib
import json
import threading

from ._errors import Drained, Refused

_INSTANCES_MAX = 1024
_ID_BYTES_MAX = 128
_CONFIG_BYTES_MAX = 1 << 20

_JSON_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}


class Plugin:
    """One decorated function or class."""

    def __init__(self, kind, name, version, summary, features, defaults, make):
        self.kind, self.name, self.version, self.summary = kind, name, version, summary
        self.features, self.defaults = list(features), defaults
        self._make = make

    def config(self, data):
        """Reads a config: a key that has no default and a value of another type are refused."""
        if len(data) > _CONFIG_BYTES_MAX:
            raise Refused(f"config of {len(data)} bytes")
        try:
            given = json.loads(data or b"{}")
        except ValueError as error:
            raise Refused(f"config is not JSON: {error}") from error
        if not isinstance(given, dict):
            raise Refused("config is not a JSON object")
        merged = dict(self.defaults)
        for key, value in given.items():
            if key not in self.defaults:
                raise Refused(f"config: unknown key {json.dumps(key)}")
            if not _same_type(value, self.defaults[key]):
                want = _JSON_TYPES[type(self.defaults[key])]
                raise Refused(f"config: {key} is {json.dumps(value)}, want {want}")
            merged[key] = value
        return merged

    def make(self, data):
        """Makes what is called, with a config."""
        config = self.config(data)
        try:
            return self._make(config)
        except (ValueError, TypeError, KeyError) as error:
            raise Refused(f"config: {error}") from error

    def schema(self):
        """A JSON schema of the config."""
        properties = {key: {"type": _JSON_TYPES[type(value)], "default": value} for key, value in self.defaults.items()}
        return {"type": "object", "additionalProperties": False, "properties": properties}

    def schema_bytes(self):
        """The schema as it is sent."""
        return json.dumps(self.schema()).encode()

    def described(self):
        """What --describe prints."""
        return {
            "kind": self.kind, "name": self.name, "version": self.version, "summary": self.summary,
            "features": self.features, "schema": self.schema(),
        }


def _same_type(value, default):
    if isinstance(default, float):
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return type(value) is type(default)


class Instance:
    """One plugin with one config."""

    def __init__(self, plugin, made):
        self.plugin, self.made = plugin, made
        # Guarded by the lock of Instances:
        self.ending = False  # nobody may ask it any more
        self.calls = 0
        self.told = []  # events to set when it ends


class Instances:
    """Instances by id. All methods may be called by many threads."""

    def __init__(self):
        self._changed = threading.Condition()
        self._all = {}  # guarded by _changed

    def add(self, instance_id, plugin, made):
        """Takes a new instance; its id must be free."""
        with self._changed:
            if not instance_id or len(instance_id.encode()) > _ID_BYTES_MAX or instance_id in self._all:
                raise RuntimeError("question: an instance id that is empty, too long or there already")
            if len(self._all) >= _INSTANCES_MAX:
                raise RuntimeError(f"question: {_INSTANCES_MAX} instances are as many as there may be")
            self._all[instance_id] = Instance(plugin, made)

    @contextlib.contextmanager
    def call(self, instance_id, kind=None):
        """Runs one call of an instance of the kind."""
        with self._changed:
            instance = self._all.get(instance_id)
            if instance is None or instance.ending:
                raise Drained("no such instance")
            if kind is not None and instance.plugin.kind != kind:
                raise NotImplementedError(f"a {instance.plugin.kind} can't do this")
            instance.calls += 1
        try:
            yield instance
        finally:
            with self._changed:
                instance.calls -= 1
                self._changed.notify_all()

    def tell(self, instance, event):
        """Sets the event when the instance ends."""
        with self._changed:
            instance.told.append(event)
            if instance.ending:
                event.set()

    def drain(self, instance_id, timeout):
        """Ends an instance when its calls are done; TimeoutError if they were not in time."""
        with self._changed:
            instance = self._all.get(instance_id)
            if instance is None:
                return
            instance.ending = True
            for event in instance.told:
                event.set()
            if not self._changed.wait_for(lambda: instance.calls == 0, timeout):
                raise TimeoutError(f"{instance.calls} calls still run")
            last = self._all.pop(instance_id, None) is instance
        close = getattr(instance.made, "close", None)
        if last and close is not None:
            close()

    def ids(self):
        """The instances that there are."""
        with self._changed:
            return list(self._all)
