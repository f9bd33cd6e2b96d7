#!/usr/bin/env python3
"""Keeps keys with the same prefix together: customer-7/order-1 and customer-7/order-2."""
import zlib

import mortise_plugin as mortise


@mortise.partitioner("prefix", version="1.0.0", config={"separator": "/"})
def by_prefix(topic, key, partitions, config):
    """Keys with the same prefix share a partition."""
    if key is None:
        return None
    return zlib.crc32(key.partition(config["separator"].encode())[0]) % partitions


mortise.main()
