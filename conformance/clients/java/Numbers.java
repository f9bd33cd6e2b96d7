import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Writes 0, 1, 2, … to each partition of a topic, with acks=all and idempotence, and reads them back: each once, in order,
 * at the offset of its number.
 *
 * <p>{@code Numbers ADDRESSES TOPIC PARTITIONS MILLIS} writes every so many milliseconds until standard input ends, then waits
 * until all is acknowledged and read. It prints
 * <pre>
 * at SENT ACKED READ GAP    several times a second: counts, and the longest time in ms without an acknowledgement since then
 * wrong WHAT                whenever something is
 * end SENT ACKED READ       at the end
 * </pre>
 */
public final class Numbers {
    private static final Duration PATIENCE = Duration.ofMinutes(2);
    private static final int SAY_EVERY = 100; // milliseconds
    private static final int WRONG_MAX = 10; // that are told
    private static final int RECORD_BYTES = 200;

    private final String topic;
    private final List<Partition> partitions = new ArrayList<>();
    private final AtomicInteger wrong = new AtomicInteger();
    private final AtomicBoolean stopped = new AtomicBoolean();
    private final AtomicBoolean done = new AtomicBoolean();

    /** What was written to one partition and read from it. */
    private static final class Partition {
        final AtomicLong sent = new AtomicLong();
        final AtomicLong acked = new AtomicLong();
        final AtomicLong read = new AtomicLong();
        long lastAck = System.nanoTime(); // guarded by this
        long gap; // guarded by this

        synchronized void ack() {
            acked.incrementAndGet();
            gap = Math.max(gap, System.nanoTime() - lastAck);
            lastAck = System.nanoTime();
        }

        synchronized long takeGap() {
            long longest = Math.max(gap, System.nanoTime() - lastAck);
            gap = 0;
            return longest;
        }
    }

    private Numbers(String topic, int count) {
        this.topic = topic;
        for (int i = 0; i < count; i++) partitions.add(new Partition());
    }

    public static void main(String[] args) throws Exception {
        var numbers = new Numbers(args[1], Integer.parseInt(args[2]));
        numbers.run(args[0], Integer.parseInt(args[3]));
        Runtime.getRuntime().halt(numbers.wrong.get() == 0 ? 0 : 1);
    }

    private void run(String addresses, int every) throws Exception {
        var reader = new Thread(() -> guarded(() -> read(addresses)));
        var writer = new Thread(() -> guarded(() -> write(addresses, every)));
        var sayer = new Thread(() -> guarded(this::say));
        reader.start();
        writer.start();
        sayer.start();
        while (System.in.read() >= 0) { }
        stopped.set(true);
        writer.join();
        var until = System.nanoTime() + PATIENCE.toNanos();
        while (sum(false) < total() && System.nanoTime() < until && wrong.get() == 0) Thread.sleep(SAY_EVERY);
        done.set(true);
        reader.join();
        sayer.join();
        System.out.printf("end %d %d %d%n", total(), sum(true), sum(false));
    }

    private interface Work {
        void run() throws Exception;
    }

    private void guarded(Work work) {
        try {
            work.run();
        } catch (Throwable t) {
            wrong("%s", t);
        }
    }

    private void wrong(String format, Object... args) {
        if (wrong.getAndIncrement() < WRONG_MAX) System.out.println("wrong " + String.format(format, args).replace('\n', ' '));
    }

    private long total() {
        return partitions.stream().mapToLong(p -> p.sent.get()).sum();
    }

    private long sum(boolean acked) {
        return partitions.stream().mapToLong(p -> (acked ? p.acked : p.read).get()).sum();
    }

    private void say() throws Exception {
        while (!done.get()) {
            long gap = 0;
            for (var p : partitions) gap = Math.max(gap, p.takeGap());
            System.out.printf("at %d %d %d %d%n", total(), sum(true), sum(false), gap / 1_000_000);
            System.out.flush();
            Thread.sleep(SAY_EVERY);
        }
    }

    private void write(String addresses, int every) throws Exception {
        // Kafka's defaults, but nothing is given up while faults last.
        Map<String, Object> config = Map.of("bootstrap.servers", addresses, "acks", "all", "enable.idempotence", true,
            "delivery.timeout.ms", 600_000, "max.block.ms", 600_000, "linger.ms", 0, "reconnect.backoff.max.ms", 200,
            "socket.connection.setup.timeout.ms", 1000, "retry.backoff.max.ms", 200);
        try (var producer = new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer())) {
            while (!stopped.get()) {
                for (int i = 0; i < partitions.size(); i++) {
                    var p = partitions.get(i);
                    long number = p.sent.getAndIncrement();
                    var record = new ProducerRecord<byte[], byte[]>(topic, i, null, ByteBuffer.allocate(RECORD_BYTES).putLong(number).array());
                    producer.send(record, (metadata, e) -> {
                        if (e != null) {
                            wrong("%d of partition %d was not taken: %s", number, record.partition(), e);
                            return;
                        }
                        if (metadata.offset() != number) wrong("%d of partition %d has the offset %d", number, record.partition(), metadata.offset());
                        p.ack();
                    });
                }
                Thread.sleep(every);
            }
            producer.flush();
        }
    }

    private void read(String addresses) {
        Map<String, Object> config = Map.of("bootstrap.servers", addresses, "auto.offset.reset", "none", "enable.auto.commit", false,
            "fetch.max.wait.ms", 200, "reconnect.backoff.max.ms", 200, "socket.connection.setup.timeout.ms", 1000);
        try (var consumer = new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            var all = new ArrayList<TopicPartition>();
            for (int i = 0; i < partitions.size(); i++) all.add(new TopicPartition(topic, i));
            consumer.assign(all);
            for (var p : all) consumer.seek(p, 0);
            while (!done.get()) {
                for (var r : consumer.poll(Duration.ofMillis(200))) {
                    long number = ByteBuffer.wrap(r.value()).getLong(), want = partitions.get(r.partition()).read.getAndIncrement();
                    if (number != want || r.offset() != want)
                        wrong("partition %d has %d at offset %d, want %d", r.partition(), number, r.offset(), want);
                }
            }
        }
    }
}
