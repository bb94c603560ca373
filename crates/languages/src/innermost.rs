//! Which of a file's nested ranges is the innermost around a byte.

use std::ops::Range;

/// From which byte on which range is the innermost one, sorted by byte.
#[derive(Debug, Default)]
pub(super) struct Innermost(Vec<(usize, Option<usize>)>);

impl Innermost {
    /// `ranges` are sorted by start, each with the number of the one around it, which comes before it. Linear where
    /// ranges lie in one another or apart.
    pub(super) fn new(ranges: &[(Range<usize>, Option<usize>)]) -> Self {
        let mut borders = Vec::with_capacity(ranges.len());
        for (number, (range, _)) in ranges.iter().enumerate() {
            let next = ranges.get(number + 1).map_or(usize::MAX, |(next, _)| next.start);
            let (mut at, mut found) = (range.start, Some(number));
            // Up to the next start, the ranges around this one end one after another.
            while at < next {
                while let Some(inner) = found.filter(|inner| ranges[*inner].0.end <= at) {
                    found = ranges[inner].1;
                }
                borders.push((at, found));
                let Some(inner) = found else { break };
                at = ranges[inner].0.end;
            }
        }
        Self(borders)
    }

    /// The number of the innermost range around a byte.
    pub(super) fn at(&self, byte: usize) -> Option<usize> {
        let border = self.0.partition_point(|(from, _)| *from <= byte).checked_sub(1)?;
        self.0[border].1
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_innermost_range_is_told() {
        let ranges = [(2..20, None), (3..9, Some(0)), (3..5, Some(1)), (12..12, Some(0)), (30..31, None)];
        let inner = Innermost::new(&ranges);
        let told: Vec<_> = [0, 2, 3, 5, 8, 9, 12, 19, 20, 30, 31].map(|byte| inner.at(byte)).into();
        let expected =
            [None, Some(0), Some(2), Some(1), Some(1), Some(0), Some(0), Some(0), None, Some(4), None];
        assert_eq!(told, expected);
        assert!(inner.0.len() <= 2 * ranges.len() + 1, "{inner:?}");
    }

    proptest! {
        #[test]
        fn it_is_what_climbing_finds(lengths in prop::collection::vec((0usize..4, 0usize..12), 0..40)) {
            let mut ranges: Vec<(Range<usize>, Option<usize>)> = Vec::new();
            let (mut open, mut start): (Vec<usize>, usize) = (Vec::new(), 0);
            for (gap, length) in lengths {
                start += gap;
                while open.last().is_some_and(|outer| ranges[*outer].0.end <= start) {
                    open.pop();
                }
                let end = open.last().map_or(start + length, |outer| (start + length).min(ranges[*outer].0.end));
                ranges.push((start..end, open.last().copied()));
                open.push(ranges.len() - 1);
            }
            let inner = Innermost::new(&ranges);
            for byte in 0..start + 14 {
                let mut found = ranges.partition_point(|(range, _)| range.start <= byte).checked_sub(1);
                while let Some(number) = found.filter(|number| ranges[*number].0.end <= byte) {
                    found = ranges[number].1;
                }
                prop_assert_eq!(inner.at(byte), found);
            }
        }
    }
}
