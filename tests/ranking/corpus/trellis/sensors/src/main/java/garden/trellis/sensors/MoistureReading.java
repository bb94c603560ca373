package garden.trellis.sensors;

import java.time.Instant;
import java.util.Objects;

/**
 * What one sensor measured at one moment. The raw value is what the probe's converter gave, 0 to 1023; the percentage is
 * only known after calibration.
 */
public final class MoistureReading {
    private final String sensor;
    private final Instant takenAt;
    private final int raw;
    private final double percent;

    private MoistureReading(String sensor, Instant takenAt, int raw, double percent) {
        this.sensor = Objects.requireNonNull(sensor);
        this.takenAt = Objects.requireNonNull(takenAt);
        this.raw = raw;
        this.percent = percent;
    }

    public static MoistureReading raw(String sensor, Instant takenAt, int raw) {
        if (raw < 0 || raw > 1023) {
            throw new IllegalArgumentException("raw value " + raw + " is outside 0..1023");
        }
        return new MoistureReading(sensor, takenAt, raw, Double.NaN);
    }

    public MoistureReading calibrated(CalibrationCurve curve) {
        return new MoistureReading(sensor, takenAt, raw, curve.percent(raw));
    }

    public boolean isCalibrated() {
        return !Double.isNaN(percent);
    }

    public String sensor() {
        return sensor;
    }

    public Instant takenAt() {
        return takenAt;
    }

    public int raw() {
        return raw;
    }

    public double percent() {
        return percent;
    }
}
