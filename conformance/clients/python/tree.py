"""Loads a source tree into a topic with confluent-kafka (librdkafka), or reads it back: load|check ADDR TOPIC DIR."""
import hashlib
import os
import sys
import time

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

VALUE_MAX = 16 << 20
PATIENCE = 300


def files(root):
    for folder, _, names in sorted(os.walk(root)):
        for name in sorted(names):
            full = os.path.join(folder, name)
            if os.path.isfile(full) and not os.path.islink(full):
                yield os.path.relpath(full, root), full


def content(full):
    with open(full, "rb") as f:
        return f.read()


def load(addr, topic, root):
    acked, failed = [], []

    def done(err, msg):
        (failed if err else acked).append(err or msg.offset())

    p = Producer({"bootstrap.servers": addr, "message.max.bytes": VALUE_MAX, "enable.idempotence": True,
                  "compression.type": "snappy", "linger.ms": 5})
    n = 0
    for key, full in files(root):
        value = content(full)
        headers = {"sha256": hashlib.sha256(value).hexdigest()}
        while True:
            try:
                p.produce(topic, value, key, headers=headers, on_delivery=done)
                break
            except BufferError:
                p.poll(1)
        p.poll(0)
        n += 1
    left = p.flush(PATIENCE)
    if failed or left or len(acked) != n:
        sys.exit(f"{len(acked)} of {n} acknowledged, {left} left, failed: {failed[:3]}")
    print(n, "files loaded")


def check(addr, topic, root):
    want = dict(files(root))
    seen = set()
    c = Consumer({"bootstrap.servers": addr, "group.id": "unused", "enable.auto.commit": False, "enable.partition.eof": False,
                  "fetch.message.max.bytes": VALUE_MAX, "receive.message.max.bytes": 8 * VALUE_MAX})
    parts = list(c.list_topics(topic, 30).topics[topic].partitions)
    ends = {p: c.get_watermark_offsets(TopicPartition(topic, p), 30)[1] for p in parts}
    left = {p for p in parts if ends[p] > 0}
    c.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in left])
    until = time.monotonic() + PATIENCE
    while left and time.monotonic() < until:
        m = c.poll(1)
        if m is None:
            continue
        if m.error():
            sys.exit(str(m.error()))
        key = m.key().decode()
        value = m.value() or b""
        if content(want[key]) != value or dict(m.headers())["sha256"].decode() != hashlib.sha256(value).hexdigest():
            sys.exit(f"{key} differs")
        seen.add(key)
        if m.offset() == ends[m.partition()] - 1:
            left.discard(m.partition())
    c.close()
    if len(seen) != len(want):
        sys.exit(f"{len(seen)} files read, want {len(want)}")
    print(len(seen), "files equal")


if __name__ == "__main__":
    {"load": load, "check": check}[sys.argv[1]](*sys.argv[2:])
