import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Loads a source tree into a topic with Kafka's own client, or reads it back: load|check ADDR TOPIC DIR. */
public final class Tree {
  private static final int VALUE_MAX = 16 << 20;

  public static void main(String[] args) throws Exception {
    Path root = Path.of(args[3]);
    List<Path> files;
    try (Stream<Path> walk = Files.walk(root)) {
      files = walk.filter(Files::isRegularFile).sorted().collect(Collectors.toList());
    }
    Properties p = new Properties();
    p.put("bootstrap.servers", args[1]);
    if (args[0].equals("load")) {
      load(p, args[2], root, files);
    } else {
      check(p, args[2], root, files);
    }
  }

  static String sha256(byte[] b) throws Exception {
    return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(b));
  }

  static void load(Properties p, String topic, Path root, List<Path> files) throws Exception {
    p.put("max.request.size", VALUE_MAX);
    p.put("compression.type", "gzip");
    AtomicInteger acked = new AtomicInteger();
    AtomicReference<Exception> failed = new AtomicReference<>();
    try (var producer = new KafkaProducer<>(p, new ByteArraySerializer(), new ByteArraySerializer())) {
      for (Path f : files) {
        byte[] value = Files.readAllBytes(f);
        byte[] key = root.relativize(f).toString().getBytes(StandardCharsets.UTF_8);
        var record = new ProducerRecord<>(topic, key, value);
        record.headers().add("sha256", sha256(value).getBytes(StandardCharsets.UTF_8));
        producer.send(record, (m, e) -> {
          if (e != null) {
            failed.set(e);
          } else {
            acked.incrementAndGet();
          }
        });
      }
    }
    if (failed.get() != null) {
      throw new ExecutionException(failed.get());
    }
    if (acked.get() != files.size()) {
      throw new IllegalStateException(acked + " records acknowledged, want " + files.size());
    }
    System.out.println(acked + " files loaded");
  }

  static void check(Properties p, String topic, Path root, List<Path> files) throws Exception {
    p.put("auto.offset.reset", "earliest");
    p.put("max.partition.fetch.bytes", VALUE_MAX);
    Map<String, Path> want = new HashMap<>();
    for (Path f : files) {
      want.put(root.relativize(f).toString(), f);
    }
    Set<String> seen = new HashSet<>();
    try (var consumer = new KafkaConsumer<>(p, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
      List<TopicPartition> parts = consumer.partitionsFor(topic).stream()
          .map(i -> new TopicPartition(topic, i.partition())).collect(Collectors.toList());
      consumer.assign(parts);
      consumer.seekToBeginning(parts);
      Map<TopicPartition, Long> end = consumer.endOffsets(parts);
      while (parts.stream().anyMatch(t -> consumer.position(t) < end.get(t))) {
        for (ConsumerRecord<byte[], byte[]> r : consumer.poll(Duration.ofSeconds(10))) {
          String key = new String(r.key(), StandardCharsets.UTF_8);
          Path f = want.get(key);
          if (f == null) {
            throw new IllegalStateException("unknown key " + key);
          }
          String header = new String(r.headers().lastHeader("sha256").value(), StandardCharsets.UTF_8);
          if (!Arrays.equals(Files.readAllBytes(f), r.value()) || !header.equals(sha256(r.value()))) {
            throw new IllegalStateException(key + " differs");
          }
          seen.add(key);
        }
      }
    }
    if (seen.size() != files.size()) {
      throw new IllegalStateException(seen.size() + " files read, want " + files.size());
    }
    System.out.println(seen.size() + " files equal");
  }
}
