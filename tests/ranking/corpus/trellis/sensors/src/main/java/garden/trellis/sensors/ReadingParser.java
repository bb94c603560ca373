package garden.trellis.sensors;

import java.time.Clock;
import java.util.Optional;

/**
 * Reads the lines that the probes send over the serial cable: {@code $M,<sensor>,<raw>*<checksum>}. Noise on the cable is
 * normal, so a line that cannot be read is counted and dropped.
 */
public final class ReadingParser {
    private final Clock clock;
    private long dropped;

    public ReadingParser(Clock clock) {
        this.clock = clock;
    }

    public Optional<MoistureReading> parse(String line) {
        int star = line.lastIndexOf('*');
        if (!line.startsWith("$M,") || star < 0) {
            return drop();
        }
        String body = line.substring(1, star);
        if (!hex(checksum(body)).equalsIgnoreCase(line.substring(star + 1).trim())) {
            return drop();
        }
        String[] fields = body.split(",");
        if (fields.length != 3) {
            return drop();
        }
        try {
            int raw = Integer.parseInt(fields[2]);
            return Optional.of(MoistureReading.raw(fields[1], clock.instant(), raw));
        } catch (IllegalArgumentException malformed) {
            return drop();
        }
    }

    /** How many lines could not be read. */
    public long dropped() {
        return dropped;
    }

    /** All characters combined by exclusive or, as the probes do it. */
    static int checksum(String body) {
        int sum = 0;
        for (int i = 0; i < body.length(); i++) {
            sum ^= body.charAt(i);
        }
        return sum & 0xff;
    }

    private static String hex(int value) {
        return String.format("%02X", value);
    }

    private Optional<MoistureReading> drop() {
        dropped++;
        return Optional.empty();
    }
}
