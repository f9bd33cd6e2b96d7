import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.internals.PluginMetricsImpl;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.metadata.authorizer.StandardAcl;
import org.apache.kafka.metadata.authorizer.StandardAuthorizer;
import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.authorizer.AuthorizationResult;

/**
 * Answers questions from standard input with Kafka's own StandardAuthorizer. Enums are Kafka's numbers. Lines:
 * "set" forgets all rules; "rule TYPE PATTERN NAME PRINCIPAL HOST OPERATION PERMISSION" adds one;
 * "name PRINCIPAL HOST OPERATION TYPE NAME" and "type PRINCIPAL HOST OPERATION TYPE" ask. Each question is answered by
 * one line: what it is with and without allow.everyone.if.no.acl.found, or "abstain" if that makes a difference.
 */
public final class Decide {
  private static StandardAuthorizer strict;
  private static StandardAuthorizer open;
  private static Map<Uuid, StandardAcl> rules = new HashMap<>();
  private static boolean loaded;

  public static void main(String[] args) throws Exception {
    strict = authorizer("false");
    open = authorizer("true");
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    StringBuilder out = new StringBuilder();
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      String[] w = line.split(" ");
      switch (w[0]) {
        case "set" -> { rules = new HashMap<>(); loaded = false; }
        case "rule" -> {
          StandardAcl rule = rule(w);
          if (!rules.containsValue(rule)) rules.put(new Uuid(1, rules.size() + 1), rule);
          loaded = false;
        }
        default -> out.append(answer(w)).append('\n');
      }
    }
    System.out.print(out);
  }

  private static StandardAuthorizer authorizer(String everyone) {
    StandardAuthorizer a = new StandardAuthorizer();
    a.configure(Map.of(StandardAuthorizer.ALLOW_EVERYONE_IF_NO_ACL_IS_FOUND_CONFIG, everyone, "node.id", "1"));
    a.withPluginMetrics(new PluginMetricsImpl(new Metrics(), Map.of())); // It counts each decision.
    a.completeInitialLoad();
    return a;
  }

  private static StandardAcl rule(String[] w) {
    return new StandardAcl(ResourceType.fromCode(Byte.parseByte(w[1])), w[3], PatternType.fromCode(Byte.parseByte(w[2])),
        w[4], w[5], AclOperation.fromCode(Byte.parseByte(w[6])), AclPermissionType.fromCode(Byte.parseByte(w[7])));
  }

  private static String answer(String[] w) throws Exception {
    if (!loaded) {
      strict.loadSnapshot(rules);
      open.loadSnapshot(rules);
      loaded = true;
    }
    AuthorizationResult a = ask(strict, w);
    AuthorizationResult b = ask(open, w);
    if (a != b) return "abstain";
    return a == AuthorizationResult.ALLOWED ? "allow" : "deny";
  }

  private static AuthorizationResult ask(StandardAuthorizer a, String[] w) throws Exception {
    String[] who = w[1].split(":", 2);
    Context c = new Context(new KafkaPrincipal(who[0], who[1]), InetAddress.getByName(w[2]));
    AclOperation op = AclOperation.fromCode(Byte.parseByte(w[3]));
    ResourceType type = ResourceType.fromCode(Byte.parseByte(w[4]));
    if (w[0].equals("type")) return a.authorizeByResourceType(c, op, type);
    return a.authorize(c, List.of(new Action(op, new ResourcePattern(type, w[5], PatternType.LITERAL), 1, false, false)))
        .get(0);
  }

  private record Context(KafkaPrincipal principal, InetAddress clientAddress) implements AuthorizableRequestContext {
    public String listenerName() { return "L"; }
    public SecurityProtocol securityProtocol() { return SecurityProtocol.PLAINTEXT; }
    public int requestType() { return 0; }
    public int requestVersion() { return 0; }
    public String clientId() { return "c"; }
    public int correlationId() { return 0; }
  }
}
