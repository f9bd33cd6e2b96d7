"""Asks librdkafka where it puts keys. See doc.go of package golden.

The functions of its partitioners are called for every number of partitions. For the four
partitions of a topic on its mock broker the same keys are produced too, and what the delivery
reports say must be the same: that is the real client from end to end. It also shows which keys
go anywhere.
"""

import ctypes
import glob
import os
import sys

import confluent_kafka

MOCK_PARTITIONS = 4
PARTITIONERS = ["consistent", "consistent_random", "murmur2", "murmur2_random", "fnv1a", "fnv1a_random"]


def library():
    beside = os.path.join(os.path.dirname(os.path.dirname(confluent_kafka.__file__)), "confluent_kafka.libs")
    return ctypes.CDLL(glob.glob(os.path.join(beside, "librdkafka*"))[0])


def function(lib, name):
    f = getattr(lib, "rd_kafka_msg_partitioner_" + name)
    f.restype = ctypes.c_int32
    f.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p]
    return lambda key, n: f(None, key, 0 if key is None else len(key), n, None, None)


def produced(partitioner, keys):
    """Where a producer puts keys, by index."""
    producer = confluent_kafka.Producer({
        "test.mock.num.brokers": 1,
        "partitioner": partitioner,
        "sticky.partitioning.linger.ms": 0,
        "queue.buffering.max.messages": 100000,
        "log_level": 3,
    })
    placed = [None] * len(keys)

    def report(index):
        def delivered(error, message):
            if error is not None:
                sys.exit(f"{partitioner}: {error}")
            placed[index] = message.partition()
        return delivered

    for index, key in enumerate(keys):
        producer.produce("golden", key=key, value=b"v", on_delivery=report(index))
        producer.poll(0)
    producer.flush(60)
    if None in placed:
        sys.exit(f"{partitioner}: a record was not delivered")
    return placed


def main():
    counts = [int(n) for n in sys.argv[1:]]
    keys = [None if line.strip() == "-" else bytes.fromhex(line.strip()) for line in sys.stdin]
    lib = library()
    print("client librdkafka", confluent_kafka.libversion()[0])
    for name in PARTITIONERS:
        places = function(lib, name)
        keyless = [key for key in (None, b"") for _ in range(60)]
        there = produced(name, keyless + keys)
        by_chance = [key for key, seen in ((None, there[:60]), (b"", there[60:120])) if len(set(seen)) > 1]
        for key, place in zip(keys, there[120:]):
            if key not in by_chance and places(key, MOCK_PARTITIONS) != place:
                sys.exit(f"{name}: key {key} was produced to {place}, the function says {places(key, MOCK_PARTITIONS)}")
        print("partitioner", name)
        for n in counts:
            print(n, *(-1 if key in by_chance else places(key, n) for key in keys))


main()
