package garden.trellis.sensors;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Clock;
import java.time.Instant;
import java.time.ZoneOffset;
import org.junit.jupiter.api.Test;

class ReadingParserTest {
    private final Clock clock = Clock.fixed(Instant.parse("2024-05-01T06:00:00Z"), ZoneOffset.UTC);
    private final ReadingParser parser = new ReadingParser(clock);

    private static String line(String body) {
        return String.format("$%s*%02X", body, ReadingParser.checksum(body));
    }

    @Test
    void readsALine() {
        MoistureReading reading = parser.parse(line("M,bed-7,512")).orElseThrow();
        assertEquals("bed-7", reading.sensor());
        assertEquals(512, reading.raw());
        assertEquals(clock.instant(), reading.takenAt());
    }

    @Test
    void dropsALineWithAWrongChecksum() {
        assertTrue(parser.parse("$M,bed-7,512*00").isEmpty());
        assertEquals(1, parser.dropped());
    }

    @Test
    void dropsNoise() {
        assertTrue(parser.parse("").isEmpty());
        assertTrue(parser.parse("$M,bed-7").isEmpty());
        assertTrue(parser.parse(line("M,bed-7,4096")).isEmpty());
        assertTrue(parser.parse(line("M,bed-7,wet")).isEmpty());
        assertEquals(4, parser.dropped());
    }
}
