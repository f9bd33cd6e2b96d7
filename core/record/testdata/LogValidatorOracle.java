import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.List;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.requests.ProduceResponse;
import org.apache.kafka.common.utils.internals.BufferSupplier;
import org.apache.kafka.common.utils.internals.PrimitiveRef;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.LogValidator;
import org.apache.kafka.storage.internals.log.RecordValidationException;

/**
 * Asks the LogValidator of a real Kafka 4.4 what it makes of batches. One case per
 * line on standard input, one answer per line on standard output, tabs between
 * fields. The test TestKafkaAnswers runs it with -kafka-lib=DIR, where DIR holds
 * Kafka's jars, and keeps the answers in kafka44.tsv.
 */
public class LogValidatorOracle {
    static final TopicPartition TP = new TopicPartition("t", 0);
    static final int EPOCH = 7;

    static final LogValidator.MetricsRecorder NO_METRICS = new LogValidator.MetricsRecorder() {
        public void recordInvalidMagic() {}
        public void recordInvalidOffset() {}
        public void recordInvalidSequence() {}
        public void recordInvalidChecksums() {}
        public void recordNoKeyCompactedTopic() {}
    };

    public static void main(String[] args) throws Exception {
        var in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] f = line.split("\t", -1);
            System.out.println(f[0] + "\t" + answer(f));
        }
    }

    // Fields: name, batch, compression type, timestamp type, before, after, compacted, now, max record bytes.
    static String answer(String[] f) {
        try {
            MemoryRecords records = MemoryRecords.readableRecords(ByteBuffer.wrap(HexFormat.of().parseHex(f[1])));
            RecordBatch first = records.batches().iterator().next();
            CompressionType source = first.compressionType();
            Compression target = f[2].equals("producer") ? Compression.of(source).build()
                : f[2].equals("uncompressed") ? Compression.NONE : Compression.of(f[2]).build();
            int maxRecord = Integer.parseInt(f[8]);
            var v = new LogValidator(records, TP, time(Long.parseLong(f[7])), source, target, f[6].equals("true"),
                RecordBatch.MAGIC_VALUE_V2, TimestampType.forName(f[3]), Long.parseLong(f[4]), Long.parseLong(f[5]),
                EPOCH, AppendOrigin.CLIENT, maxRecord == 0 ? Integer.MAX_VALUE : maxRecord);
            var r = v.validateMessagesAndAssignOffsets(PrimitiveRef.ofLong(0), NO_METRICS, BufferSupplier.NO_CACHING);
            ByteBuffer out = r.validatedRecords().buffer().duplicate();
            byte[] bytes = new byte[out.remaining()];
            out.get(bytes);
            return "0\t" + r.maxTimestampMs() + "\t" + r.messageSizeMaybeChanged() + "\t" + HexFormat.of().formatHex(bytes);
        } catch (RecordValidationException e) {
            StringBuilder s = new StringBuilder();
            s.append(Errors.forException(e.invalidException()).code()).append('\t').append(e.invalidException().getMessage());
            List<ProduceResponse.RecordError> errors = e.recordErrors();
            for (var re : errors) s.append('\t').append(re.batchIndex).append(':').append(re.message);
            return s.toString();
        } catch (Throwable t) {
            String text = String.valueOf(t.getMessage()).replace('\t', ' ').replace('\n', ' ');
            return Errors.forException(t).code() + "\t!" + text;
        }
    }

    static Time time(long now) {
        return new Time() {
            public long milliseconds() { return now; }
            public long nanoseconds() { return now * 1_000_000; }
            public void sleep(long ms) { throw new UnsupportedOperationException(); }
        };
    }
}
