import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationTargetException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.apache.kafka.common.utils.internals.Exit;

/**
 * Runs many of Kafka's command-line tools in one JVM, because starting one costs more than what they do.
 *
 * <p>{@code Tools ADDRESS} reads one command a line: a class below org.apache.kafka.tools and its arguments, split at
 * blanks, without the address. Each is printed before its output; the exit code follows unless it is 0. A tool that takes
 * the call of exit for an error of its own prints empty lines about it.
 */
public final class Tools {
    /** Tools that want the address before what they shall do. */
    private static final Set<String> BEFORE_ACTION = Set.of("FeatureCommand", "MetadataQuorumCommand");

    private static final class Ended extends RuntimeException {
        final int code;

        Ended(int code) {
            super("", null, false, false);
            this.code = code;
        }

        @Override
        public String toString() {
            return "";
        }
    }

    /** How the tool that runs ended; null: not yet. */
    private static Ended ended;

    private static Ended end(int code) {
        if (ended == null) ended = new Ended(code); // a tool that catches it may call exit again
        return ended;
    }

    public static void main(String[] args) throws Exception {
        Exit.setExitProcedure((code, message) -> { throw end(code); });
        Exit.setHaltProcedure((code, message) -> { throw end(code); });
        System.setErr(System.out); // In the order of printing.
        var in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            if (line.isBlank()) continue;
            System.out.println("> " + line);
            int code = run(args[0], line.strip().split(" +"));
            if (code != 0) System.out.println("exit " + code);
        }
        System.out.flush();
        Runtime.getRuntime().halt(0); // What a tool left running ends with it, as it does in a JVM of its own.
    }

    private static int run(String address, String[] command) throws Exception {
        var args = new ArrayList<>(Arrays.asList(command).subList(1, command.length));
        args.addAll(BEFORE_ACTION.contains(command[0]) ? 0 : args.size(), List.of("--bootstrap-server", address));
        ended = null;
        try {
            Class.forName("org.apache.kafka.tools." + command[0]).getMethod("main", String[].class).invoke(null, (Object) args.toArray(String[]::new));
            return ended == null ? 0 : ended.code;
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof Ended end) return end.code;
            System.out.println(e.getCause());
            return -1;
        }
    }
}
