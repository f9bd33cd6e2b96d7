import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.LongDeserializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;

/**
 * Counts the words of files with Kafka Streams, at least once.
 *
 * <p>{@code WordCount run ADDRESS APPLICATION IN OUT STATE_DIR FILES} counts until so many files are read, and says
 * "at N" after every tenth of its own and "state S" at changes. {@code WordCount check ADDRESS OUT DIR exact|atleast} compares the last count of each word
 * with the files below DIR. A word is what the default locale leaves between characters that are no letters.
 */
public final class WordCount {
    private static final Duration PATIENCE = Duration.ofSeconds(120);
    /** So slow that there is time to stop it: pause after each file, in milliseconds. */
    private static final int PAUSE = 10;

    public static void main(String[] args) throws Exception {
        switch (args[0]) {
            case "run" -> run(args[1], args[2], args[3], args[4], args[5], Long.parseLong(args[6]));
            case "check" -> check(args[1], args[2], Path.of(args[3]), args[4].equals("exact"));
            default -> throw new IllegalArgumentException(args[0]);
        }
        Runtime.getRuntime().halt(0);
    }

    private static Stream<String> words(String text) {
        return Arrays.stream(text.split("[^A-Za-z]+")).filter(w -> !w.isEmpty());
    }

    private static void run(String address, String application, String in, String out, String state, long want) throws Exception {
        var files = new AtomicInteger();
        var builder = new StreamsBuilder();
        builder.stream(in, Consumed.with(Serdes.String(), Serdes.String()))
            .peek((path, content) -> {
                int n = files.incrementAndGet();
                if (n % 10 == 0) System.out.println("at " + n);
                pause();
            })
            .flatMapValues(content -> words(content).toList())
            .groupBy((path, word) -> word, Grouped.with(Serdes.String(), Serdes.String()))
            .count(Materialized.as("counts"))
            .toStream()
            .to(out, Produced.with(Serdes.String(), Serdes.Long()));
        var config = new Properties();
        config.put(StreamsConfig.APPLICATION_ID_CONFIG, application);
        config.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, address);
        config.put(StreamsConfig.STATE_DIR_CONFIG, state);
        config.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 300);
        config.put(StreamsConfig.consumerPrefix(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG), "earliest");
        config.put(StreamsConfig.consumerPrefix(ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG), 6000);
        config.put(StreamsConfig.consumerPrefix(ConsumerConfig.HEARTBEAT_INTERVAL_MS_CONFIG), 1000);
        var streams = new KafkaStreams(builder.build(), config);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            streams.close(Duration.ofSeconds(30));
            System.out.println("closed");
        }));
        streams.setStateListener((now, before) -> System.out.println("state " + now));
        streams.start();
        try (var admin = Admin.create(Map.of("bootstrap.servers", address))) {
            long until = System.nanoTime() + PATIENCE.toNanos();
            while (!done(admin, application, in, want)) {
                if (System.nanoTime() > until) throw new IllegalStateException("records are left after " + PATIENCE);
                Thread.sleep(300);
            }
        }
        System.out.println("done");
        System.exit(0); // Closes it.
    }

    private static void pause() {
        try {
            Thread.sleep(PAUSE);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Everything is read when the group has committed the ends of the topic and of the words sorted by partition. */
    private static boolean done(Admin admin, String application, String in, long want) throws Exception {
        String sorted = application + "-counts-repartition";
        Set<String> names = admin.listTopics().names().get();
        if (!names.contains(sorted)) return false;
        var asked = new HashMap<TopicPartition, OffsetSpec>();
        for (var topic : admin.describeTopics(Set.of(in, sorted)).allTopicNames().get().values()) {
            for (var p : topic.partitions()) asked.put(new TopicPartition(topic.name(), p.partition()), OffsetSpec.latest());
        }
        // The order matters: what is read of the first topic is in the second before it is committed.
        var committed = admin.listConsumerGroupOffsets(application).partitionsToOffsetAndMetadata().get();
        var ends = admin.listOffsets(asked).all().get();
        long there = ends.entrySet().stream().filter(e -> e.getKey().topic().equals(in)).mapToLong(e -> e.getValue().offset()).sum();
        return there == want && ends.entrySet().stream().allMatch(e -> {
            var at = committed.get(e.getKey());
            return e.getValue().offset() == (at == null ? 0 : at.offset());
        });
    }

    private static void check(String address, String out, Path dir, boolean exact) throws IOException {
        Map<String, Long> want = new HashMap<>();
        try (var paths = Files.walk(dir)) {
            for (var path : paths.filter(Files::isRegularFile).toList()) {
                words(new String(Files.readAllBytes(path), java.nio.charset.StandardCharsets.UTF_8)).forEach(w -> want.merge(w, 1L, Long::sum));
            }
        }
        Map<String, Long> got = last(address, out);
        if (!got.keySet().equals(want.keySet())) {
            throw new IllegalStateException(got.size() + " words, want " + want.size());
        }
        String wrong = want.entrySet().stream()
            .filter(e -> exact ? !e.getValue().equals(got.get(e.getKey())) : e.getValue() > got.get(e.getKey()))
            .limit(10).map(e -> e.getKey() + ": " + got.get(e.getKey()) + ", want " + e.getValue()).collect(Collectors.joining("; "));
        if (!wrong.isEmpty()) throw new IllegalStateException(wrong);
        System.out.println(want.size() + " words, " + got.values().stream().mapToLong(n -> n).sum() + " counted");
    }

    private static Map<String, Long> last(String address, String topic) {
        Map<String, Long> got = new HashMap<>();
        try (var consumer = new KafkaConsumer<>(Map.of("bootstrap.servers", address), new StringDeserializer(), new LongDeserializer())) {
            var partitions = consumer.partitionsFor(topic).stream().map(p -> new TopicPartition(topic, p.partition())).toList();
            var ends = consumer.endOffsets(partitions);
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            long until = System.nanoTime() + PATIENCE.toNanos();
            while (partitions.stream().anyMatch(p -> consumer.position(p) < ends.get(p))) {
                if (System.nanoTime() > until) throw new IllegalStateException("can't read " + topic);
                for (ConsumerRecord<String, Long> r : consumer.poll(Duration.ofMillis(500))) got.put(r.key(), r.value());
            }
        }
        return got;
    }
}
