import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.sink.SinkConnector;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;

/** A connector that appends each record to a file as a line, before its offset is committed. */
public final class LineSink extends SinkConnector {
    private Map<String, String> config;

    @Override public void start(Map<String, String> props) { config = props; }
    @Override public Class<? extends Task> taskClass() { return Lines.class; }
    @Override public List<Map<String, String>> taskConfigs(int max) { return Collections.nCopies(max, config); }
    @Override public void stop() {}
    @Override public String version() { return "1"; }

    @Override public ConfigDef config() {
        return new ConfigDef().define("file", ConfigDef.Type.STRING, ConfigDef.Importance.HIGH, "the file that is written");
    }

    public static final class Lines extends SinkTask {
        private FileOutputStream file;

        @Override public String version() { return "1"; }

        @Override public void start(Map<String, String> props) {
            try {
                file = new FileOutputStream(props.get("file"), true);
            } catch (IOException e) {
                throw new ConnectException(e);
            }
        }

        /** One write for all of them: what is killed leaves no half line unless the system is short of space. */
        @Override public void put(Collection<SinkRecord> records) {
            var lines = new StringBuilder();
            for (SinkRecord r : records) lines.append(r.value()).append('\n');
            try {
                file.write(lines.toString().getBytes(StandardCharsets.UTF_8));
            } catch (IOException e) {
                throw new ConnectException(e);
            }
        }

        @Override public void stop() {
            try {
                file.close();
            } catch (IOException e) {
                throw new ConnectException(e);
            }
        }
    }
}
