package garden.trellis.sensors;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/**
 * Holds readings while the network is away. When it is full the oldest one goes, because what the soil was like
 * last week helps nobody.
 */
public final class ReadingBuffer {
    private final int capacity;
    private final Deque<MoistureReading> waiting = new ArrayDeque<>();
    private long lost;

    public ReadingBuffer(int capacity) {
        if (capacity <= 0) {
            throw new IllegalArgumentException("capacity must be positive");
        }
        this.capacity = capacity;
    }

    public synchronized void add(MoistureReading reading) {
        if (waiting.size() == capacity) {
            waiting.removeFirst();
            lost++;
        }
        waiting.addLast(reading);
    }

    /** Up to {@code limit} of the oldest readings; they stay until {@link #confirm}. */
    public synchronized List<MoistureReading> peek(int limit) {
        List<MoistureReading> batch = new ArrayList<>(Math.min(limit, waiting.size()));
        for (MoistureReading reading : waiting) {
            if (batch.size() == limit) {
                break;
            }
            batch.add(reading);
        }
        return batch;
    }

    /** Forgets readings that the server has. */
    public synchronized void confirm(List<MoistureReading> sent) {
        waiting.removeAll(sent);
    }

    public synchronized int size() {
        return waiting.size();
    }

    public synchronized long lost() {
        return lost;
    }
}
