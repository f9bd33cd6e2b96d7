import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.utils.internals.AppInfoParser;

/** Asks Kafka's producer, which never connects, where it would put keys. See doc.go of package golden. */
public final class Golden {
  public static void main(String[] args) throws Exception {
    PrintStream out = new PrintStream(System.out, false);
    System.setOut(System.err); // What a logger says is not an answer.
    List<byte[]> keys = new ArrayList<>();
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      keys.add(line.equals("-") ? null : HexFormat.of().parseHex(line));
    }
    out.println("client java " + AppInfoParser.getVersion());
    ask(out, "default", Map.of(), args, keys);
    ask(out, "round-robin", Map.of("partitioner.class", "org.apache.kafka.clients.producer.RoundRobinPartitioner"), args, keys);
    out.flush();
  }

  private static void ask(PrintStream out, String name, Map<String, Object> config, String[] counts, List<byte[]> keys)
      throws Exception {
    out.println("partitioner " + name);
    for (String count : counts) {
      Map<String, Object> all = new java.util.HashMap<>(config);
      all.put("bootstrap.servers", "localhost:1");
      try (var producer = new KafkaProducer<>(all, new ByteArraySerializer(), new ByteArraySerializer())) {
        Method partition = KafkaProducer.class.getDeclaredMethod(
            "partition", ProducerRecord.class, byte[].class, byte[].class, Cluster.class);
        partition.setAccessible(true);
        Cluster cluster = cluster(Integer.parseInt(count));
        StringBuilder line = new StringBuilder(count);
        for (byte[] key : keys) {
          var record = new ProducerRecord<byte[], byte[]>("t", key, null);
          line.append(' ').append(partition.invoke(producer, record, key, null, cluster));
        }
        out.println(line);
        producer.close(java.time.Duration.ZERO);
      }
    }
  }

  private static Cluster cluster(int count) {
    Node node = new Node(1, "localhost", 1);
    List<PartitionInfo> partitions = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      partitions.add(new PartitionInfo("t", i, node, new Node[] {node}, new Node[] {node}));
    }
    return new Cluster("c", List.of(node), partitions, Set.of(), Set.of());
  }
}
