package garden.trellis.sensors;

import java.util.Map;
import java.util.TreeMap;

/**
 * Turns the raw value of a probe into percent of water, by straight lines between measured points. Every probe is different:
 * the points are measured in dry sand and in a glass of water.
 */
public final class CalibrationCurve {
    private final TreeMap<Integer, Double> points;

    public CalibrationCurve(Map<Integer, Double> points) {
        if (points.size() < 2) {
            throw new IllegalArgumentException("a curve needs two points");
        }
        this.points = new TreeMap<>(points);
    }

    public static CalibrationCurve dryAndWet(int dry, int wet) {
        return new CalibrationCurve(Map.of(dry, 0.0, wet, 100.0));
    }

    /** Values outside the measured points are those of the nearest point. */
    public double percent(int raw) {
        Map.Entry<Integer, Double> below = points.floorEntry(raw);
        Map.Entry<Integer, Double> above = points.ceilingEntry(raw);
        if (below == null) {
            return above.getValue();
        }
        if (above == null || above.getKey().equals(below.getKey())) {
            return below.getValue();
        }
        double share = (raw - below.getKey()) / (double) (above.getKey() - below.getKey());
        return below.getValue() + share * (above.getValue() - below.getValue());
    }
}
