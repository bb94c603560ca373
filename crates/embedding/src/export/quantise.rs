//! f32 weights to int8, one scale per output column.

use super::calibration::LinearInput;
use super::weights::Matrix;

/// int8 weights with `weight[row][column] = values * scales[column]`.
pub(super) struct QuantisedMatrix {
    pub(super) values: Vec<i8>,
    pub(super) scales: Vec<f32>,
}

/// Grows the rows of the smoothed input channels by the factors that shrink those channels.
///
/// A few channels are several times wider than all others and would set the scale of the whole
/// tensor; moving their width into the weights keeps the product and most of the precision.
pub(super) fn smooth(weight: &mut Matrix, input: &LinearInput) {
    for &(channel, factor) in &input.smoothed {
        let row = &mut weight.values[channel * weight.columns..(channel + 1) * weight.columns];
        row.iter_mut().for_each(|value| *value *= factor);
    }
}

/// Returns the factor of each input channel: 1, or the inverse of its smoothing factor.
pub(super) fn channel_multipliers(channels: usize, input: &LinearInput) -> Vec<f32> {
    let mut multipliers = vec![1.0; channels];
    for &(channel, factor) in &input.smoothed {
        multipliers[channel] = 1.0 / factor;
    }
    multipliers
}

/// Symmetric rounding to -127..=127.
pub(super) fn by_column(weight: &Matrix) -> QuantisedMatrix {
    let mut widest = vec![1e-12_f32; weight.columns];
    for row in weight.values.chunks_exact(weight.columns) {
        for (widest, value) in widest.iter_mut().zip(row) {
            *widest = widest.max(value.abs());
        }
    }
    let scales: Vec<f32> = widest.into_iter().map(|widest| widest / 127.0).collect();
    #[expect(clippy::cast_possible_truncation, reason = "clamped to the range of i8 before")]
    let quantise =
        |(value, scale): (&f32, &f32)| (value / scale).round_ties_even().clamp(-127.0, 127.0) as i8;
    let rows = weight.values.chunks_exact(weight.columns);
    let values = rows.flat_map(|row| row.iter().zip(&scales).map(quantise)).collect();
    QuantisedMatrix { values, scales }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_round_within_half_a_step_of_their_own_scale() {
        let weight = Matrix { rows: 2, columns: 2, values: vec![1.0, -200.0, 0.3, 50.0] };
        let quantised = by_column(&weight);
        assert_eq!(quantised.values, [127, -127, 38, 32]);
        for (at, value) in weight.values.iter().enumerate() {
            let scale = quantised.scales[at % 2];
            assert!((f32::from(quantised.values[at]) * scale - value).abs() <= scale / 2.0 + 1e-6);
        }
    }

    #[test]
    fn smoothing_moves_a_factor_from_input_to_weight() {
        let input =
            LinearInput { linear: String::new(), scale: 1.0, zero_point: 0, smoothed: vec![(1, 4.0)] };
        let mut weight = Matrix { rows: 2, columns: 2, values: vec![1.0, 2.0, 3.0, 4.0] };
        smooth(&mut weight, &input);
        assert_eq!(weight.values, [1.0, 2.0, 12.0, 16.0]);
        assert_eq!(channel_multipliers(2, &input), [1.0, 0.25]);
    }
}
