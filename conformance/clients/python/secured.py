"""Writes records one by one through confluent-kafka-python (librdkafka) after a login; see security.sh.

    secured.py ADDRESS USER PASSWORD TOPIC COUNT
"""

import sys
import time

from confluent_kafka import KafkaError, Producer

DENIED, NO_LOGIN = 3, 4
PATIENCE = 30


def main(address, user, password, topic, count):
    end = []

    def on_error(error):
        if error.code() == KafkaError._AUTHENTICATION:
            end.append(NO_LOGIN)

    def on_delivery(error, message):
        if error is None:
            print(f"record {message.offset()}", flush=True)
        elif error.code() in (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED):
            end.append(DENIED)
        else:
            print(error, flush=True)
            end.append(1)

    producer = Producer({"bootstrap.servers": address, "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN",
                         "sasl.username": user, "sasl.password": password, "error_cb": on_error, "linger.ms": 0})
    for n in range(int(count)):
        producer.produce(topic, f"record {n}", on_delivery=on_delivery)
        begin = time.monotonic()
        while len(producer) > 0 and not end and time.monotonic() < begin + PATIENCE:
            producer.poll(0.1)
        if end or len(producer) > 0:
            break
        time.sleep(0.05)
    else:
        return 0
    producer.purge()
    return end[0] if end else 1


sys.exit(main(*sys.argv[1:]))
