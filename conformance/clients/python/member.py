"""A member of a consumer group through confluent-kafka-python (librdkafka); see go/member.

    member.py ADDRESS TOPIC GROUP classic|consumer
"""

import json
import signal
import sys

from confluent_kafka import Consumer, KafkaException

COMMIT_EVERY = 25
leaving = False


def leave(*_):
    global leaving
    leaving = True


def say(**event):
    print(json.dumps(event), flush=True)


class Member:
    """Reads record by record: what is to be committed is never of a partition that is gone."""

    def __init__(self, address, topic, group, protocol):
        self.pending = {}  # The last record of each partition that is not committed.
        self.owned = set()
        config = {"bootstrap.servers": address, "group.id": group, "group.protocol": protocol, "auto.offset.reset": "earliest",
                  "enable.auto.commit": False, "fetch.wait.max.ms": 100, "reconnect.backoff.max.ms": 1000}
        if protocol == "classic":
            config |= {"session.timeout.ms": 6000, "heartbeat.interval.ms": 1000}
        self.consumer = Consumer(config)
        self.consumer.subscribe([topic], on_assign=self.assigned, on_revoke=self.revoked, on_lost=self.lost)

    def assigned(self, _, partitions):
        self.owned |= {p.partition for p in partitions}
        self.show()

    def revoked(self, _, partitions):
        self.commit()
        self.give_up(partitions)

    def lost(self, _, partitions):
        self.give_up(partitions)

    def give_up(self, partitions):
        self.pending.clear()
        self.owned -= {p.partition for p in partitions}
        self.show()

    def show(self):
        say(event="owned", owned=sorted(self.owned))

    def commit(self):
        for record in self.pending.values():
            try:
                self.consumer.commit(message=record, asynchronous=False)
            except KafkaException as e:
                say(event="error", error=str(e))
        self.pending.clear()

    def run(self):
        count = 0
        while not leaving:
            record = self.consumer.poll(0.5)
            if record is None:
                self.commit()
                continue
            if record.error():
                say(event="error", error=str(record.error()))
                continue
            say(event="record", partition=record.partition(), offset=record.offset(), key=record.key().decode())
            self.pending[record.partition()] = record
            count += 1
            if count % COMMIT_EVERY == 0:
                self.commit()
        self.commit()
        self.consumer.close()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, leave)
    Member(*sys.argv[1:5]).run()
