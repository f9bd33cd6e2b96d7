import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.HashMap;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.RangeAssignor;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;

/**
 * Answers cases from standard input with Kafka's own assignors. Lines of a case, in this order:
 * "topic N PARTITIONS", "member ID INSTANCE-OR-DASH TOPICS TARGET", and at last "range" or "uniform". TOPICS is like
 * "1,2" and TARGET like "1:0,3;2:5"; a dash is nothing. Members are shown to the assignor in the order of the lines.
 * The answer is one line "ID TARGET" for each member and then ".".
 */
public final class Assign {
  private static final Map<Uuid, Integer> topics = new TreeMap<>();
  private static final Map<String, MemberSubscriptionAndAssignmentImpl> members = new LinkedHashMap<>();
  private static final Map<Uuid, Map<Integer, String>> owners = new HashMap<>();

  public static void main(String[] args) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      String[] word = line.split(" ");
      switch (word[0]) {
        case "topic" -> topics.put(id(word[1]), Integer.valueOf(word[2]));
        case "member" -> member(word);
        default -> answer(word[0].equals("range") ? new RangeAssignor() : new UniformAssignor());
      }
    }
  }

  private static Uuid id(String number) {
    return new Uuid(0, Long.parseLong(number));
  }

  private static void member(String[] word) {
    Optional<String> instance = word[2].equals("-") ? Optional.empty() : Optional.of(word[2]);
    Set<Uuid> subscribed = new TreeSet<>();
    if (!word[3].equals("-")) {
      for (String topic : word[3].split(",")) {
        subscribed.add(id(topic));
      }
    }
    Map<Uuid, Set<Integer>> target = new TreeMap<>();
    if (!word[4].equals("-")) {
      for (String part : word[4].split(";")) {
        Uuid topic = id(part.split(":")[0]);
        for (String partition : part.split(":")[1].split(",")) {
          target.computeIfAbsent(topic, t -> new TreeSet<>()).add(Integer.valueOf(partition));
          owners.computeIfAbsent(topic, t -> new HashMap<>()).put(Integer.valueOf(partition), word[1]);
        }
      }
    }
    members.put(word[1],
        new MemberSubscriptionAndAssignmentImpl(Optional.empty(), instance, subscribed, new Assignment(target)));
  }

  private static void answer(ConsumerGroupPartitionAssignor assignor) {
    boolean alike = members.values().stream().map(m -> m.subscribedTopicIds()).distinct().count() <= 1;
    GroupAssignment result = assignor.assign(
        new GroupSpecImpl(members, alike ? SubscriptionType.HOMOGENEOUS : SubscriptionType.HETEROGENEOUS, owners),
        new SubscribedTopicDescriber() {
          @Override
          public int numPartitions(Uuid topic) {
            return topics.getOrDefault(topic, -1);
          }

          @Override
          public Set<String> racksForPartition(Uuid topic, int partition) {
            return Collections.emptySet();
          }
        });
    StringBuilder out = new StringBuilder();
    for (String member : members.keySet()) {
      out.append(member).append(' ');
      var got = result.members().get(member);
      String separator = "";
      for (var topic : new TreeMap<>(got == null ? Map.of() : got.partitions()).entrySet()) {
        if (topic.getValue().isEmpty()) {
          continue;
        }
        out.append(separator).append(topic.getKey().getLeastSignificantBits()).append(':')
            .append(new TreeSet<>(topic.getValue()).toString().replaceAll("[\\[\\] ]", ""));
        separator = ";";
      }
      out.append(separator.isEmpty() ? "-" : "").append('\n');
    }
    System.out.println(out + ".");
    topics.clear();
    members.clear();
    owners.clear();
  }
}
