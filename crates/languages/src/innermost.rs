//! Finds the innermost of nested ranges around a byte.

use std::ops::Range;

/// Boundaries sorted by byte: the byte, and the number of the range that is innermost from there on.
#[derive(Debug, Default)]
pub(super) struct Innermost(Vec<(usize, Option<usize>)>);

impl Innermost {
    /// Builds the index. `ranges` are sorted by start; each has the number of its enclosing range, which precedes it. Takes
    /// linear time if ranges are nested or disjoint.
    pub(super) fn new(ranges: &[(Range<usize>, Option<usize>)]) -> Self {
        let mut boundaries = Vec::with_capacity(ranges.len());
        for (number, (range, _)) in ranges.iter().enumerate() {
            let next = ranges.get(number + 1).map_or(usize::MAX, |(next, _)| next.start);
            let (mut at, mut found) = (range.start, Some(number));
            // Before the next range starts, the enclosing ranges may end, the innermost first.
            while at < next {
                while let Some(inner) = found.filter(|inner| ranges[*inner].0.end <= at) {
                    found = ranges[inner].1;
                }
                boundaries.push((at, found));
                let Some(inner) = found else { break };
                at = ranges[inner].0.end;
            }
        }
        Self(boundaries)
    }

    /// The number of the innermost range around a byte.
    pub(super) fn at(&self, byte: usize) -> Option<usize> {
        let boundary = self.0.partition_point(|(from, _)| *from <= byte).checked_sub(1)?;
        self.0[boundary].1
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn finds_the_innermost_range() {
        let ranges = [(2..20, None), (3..9, Some(0)), (3..5, Some(1)), (12..12, Some(0)), (30..31, None)];
        let inner = Innermost::new(&ranges);
        let found: Vec<_> = [0, 2, 3, 5, 8, 9, 12, 19, 20, 30, 31].map(|byte| inner.at(byte)).into();
        let expected =
            [None, Some(0), Some(2), Some(1), Some(1), Some(0), Some(0), Some(0), None, Some(4), None];
        assert_eq!(found, expected);
        assert!(inner.0.len() <= 2 * ranges.len() + 1, "{inner:?}");
    }

    proptest! {
        #[test]
        fn agrees_with_a_search_through_the_enclosing_ranges(lengths in prop::collection::vec((0usize..4, 0usize..12), 0..40)) {
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
