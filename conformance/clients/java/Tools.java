import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationTargetException;
import java.util.Arrays;
import org.apache.kafka.common.utils.internals.Exit;

/**
 * Runs many of Kafka's command-line tools in one JVM, because starting one costs more than what they do.
 *
 * <p>{@code Tools ADDRESS} reads one command a line: a class below org.apache.kafka.tools and its arguments, split at
 * blanks, without the address. Each is printed before its output; the exit code follows unless it is 0.
 */
public final class Tools {
    private static final class Ended extends RuntimeException {
        final int code;

        Ended(int code) {
            super(null, null, false, false);
            this.code = code;
        }
    }

    public static void main(String[] args) throws Exception {
        Exit.setExitProcedure((code, message) -> { throw new Ended(code); });
        Exit.setHaltProcedure((code, message) -> { throw new Ended(code); });
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
        String[] args = Arrays.copyOfRange(command, 1, command.length + 2);
        args[args.length - 2] = "--bootstrap-server";
        args[args.length - 1] = address;
        try {
            Class.forName("org.apache.kafka.tools." + command[0]).getMethod("main", String[].class).invoke(null, (Object) args);
            return 0;
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof Ended end) return end.code;
            System.out.println(e.getCause());
            return -1;
        }
    }
}
