import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;

/** A connector that makes each line of a growing file a record. Where it is in the file is its source offset. */
public final class LineSource extends SourceConnector {
    private Map<String, String> config;

    @Override public void start(Map<String, String> props) { config = props; }
    @Override public Class<? extends Task> taskClass() { return Lines.class; }
    @Override public List<Map<String, String>> taskConfigs(int max) { return List.of(config); }
    @Override public void stop() {}
    @Override public String version() { return "1"; }

    @Override public ConfigDef config() {
        return new ConfigDef()
            .define("file", ConfigDef.Type.STRING, ConfigDef.Importance.HIGH, "the file that is read")
            .define("topic", ConfigDef.Type.STRING, ConfigDef.Importance.HIGH, "the topic that is written");
    }

    public static final class Lines extends SourceTask {
        /** Lines of one poll and the pause after it, in milliseconds: slow enough to be stopped on the way. */
        private static final int LINES = 100;
        private static final int PAUSE = 20;

        private String name;
        private String topic;
        private RandomAccessFile file;

        @Override public String version() { return "1"; }

        @Override public void start(Map<String, String> props) {
            name = props.get("file");
            topic = props.get("topic");
            try {
                file = new RandomAccessFile(name, "r");
                Map<String, Object> at = context.offsetStorageReader().offset(Map.of("file", name));
                if (at != null) file.seek((Long) at.get("position"));
            } catch (IOException e) {
                throw new ConnectException(e);
            }
        }

        @Override public List<SourceRecord> poll() throws InterruptedException {
            Thread.sleep(PAUSE);
            var records = new ArrayList<SourceRecord>();
            try {
                while (records.size() < LINES) {
                    long before = file.getFilePointer();
                    String line = file.readLine();
                    if (line == null) break;
                    long after = file.getFilePointer();
                    file.seek(after - 1);
                    if (file.read() != '\n') { // Its end is not written yet.
                        file.seek(before);
                        break;
                    }
                    String value = new String(line.getBytes(StandardCharsets.ISO_8859_1), StandardCharsets.UTF_8);
                    records.add(new SourceRecord(Map.of("file", name), Map.of("position", after), topic, Schema.STRING_SCHEMA, value));
                }
            } catch (IOException e) {
                throw new ConnectException(e);
            }
            return records.isEmpty() ? null : records;
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
