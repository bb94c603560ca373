package garden.trellis.sensors;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;

/** Uploads what the buffer holds, and waits longer after every failure. */
public final class GatewayClient {
    private static final int BATCH = 500;
    private static final Duration FIRST_WAIT = Duration.ofSeconds(2);
    private static final Duration LONGEST_WAIT = Duration.ofMinutes(10);

    private final HttpClient http;
    private final URI server;
    private final String key;
    private final ReadingBuffer buffer;
    private int failures;

    public GatewayClient(HttpClient http, URI server, String key, ReadingBuffer buffer) {
        this.http = http;
        this.server = server;
        this.key = key;
        this.buffer = buffer;
    }

    /** Sends one batch. The answer is how long to wait before the next call. */
    public Duration uploadOnce() throws InterruptedException {
        List<MoistureReading> batch = buffer.peek(BATCH);
        if (batch.isEmpty()) {
            return FIRST_WAIT;
        }
        HttpRequest request = HttpRequest.newBuilder(server.resolve("/api/readings"))
                .header("Authorization", "Key " + key)
                .header("Content-Type", "application/json")
                .timeout(Duration.ofSeconds(20))
                .POST(HttpRequest.BodyPublishers.ofString(json(batch)))
                .build();
        try {
            HttpResponse<Void> response = http.send(request, HttpResponse.BodyHandlers.discarding());
            if (response.statusCode() / 100 == 2) {
                buffer.confirm(batch);
                failures = 0;
                return Duration.ZERO;
            }
        } catch (IOException unreachable) {
            // Falls through: the wait below is the same for both.
        }
        return backOff(++failures);
    }

    static Duration backOff(int failures) {
        Duration wait = FIRST_WAIT.multipliedBy(1L << Math.min(failures, 20));
        return wait.compareTo(LONGEST_WAIT) > 0 ? LONGEST_WAIT : wait;
    }

    private static String json(List<MoistureReading> batch) {
        return batch.stream()
                .map(r -> String.format("{\"sensor\":\"%s\",\"takenAt\":\"%s\",\"percent\":%.1f}", r.sensor(), r.takenAt(), r.percent()))
                .collect(Collectors.joining(",", "[", "]"));
    }
}
