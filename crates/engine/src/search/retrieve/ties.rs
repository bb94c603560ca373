//! Cuts lists of candidates between equal scores by place. The statements order equal scores by the ids of chunks, which reveal when a file
//! was last indexed, and an answer must not depend on that.

use std::collections::HashMap;

use crate::search::rank::fuse::Retrieved;
use contract::Fault;
use store::Reads;

/// Maximum number of candidates that are read to cut between equal scores. If more chunks have one score, those that were indexed first are
/// taken.
const READ_MAX: usize = 5_000;

/// The lengths to which a list of candidates is cut.
#[derive(Debug, Clone, Copy)]
pub(in crate::search) struct Cuts {
    /// Candidates of a first page.
    pub(in crate::search) first_page: usize,
    /// All candidates.
    pub(in crate::search) all: usize,
}

impl Cuts {
    /// Returns the number of candidates to read: one more than are used, which shows whether the last of these has equals.
    pub(in crate::search) fn read(self) -> usize {
        self.all.max(self.first_page) + 1
    }

    /// Returns the larger number of candidates to read if those that were read end amid equal scores that a cut goes through.
    pub(in crate::search) fn read_again(self, retrieved: &Retrieved) -> Option<usize> {
        let (last, last_score) = (retrieved.len().checked_sub(1)?, retrieved.last()?.1);
        let is_cut = |at: &usize| *at > 0 && *at <= last && is_equal(retrieved[at - 1].1, last_score);
        (retrieved.len() == self.read() && self.read() < READ_MAX && self.places().iter().any(is_cut))
            .then_some(READ_MAX)
    }

    /// Orders the equal scores that a cut goes through by place, and cuts the list. `retrieved` is best first.
    ///
    /// # Errors
    /// Storage faults.
    pub(in crate::search) async fn cut(
        self,
        reads: &mut Reads,
        mut retrieved: Retrieved,
    ) -> Result<Retrieved, Fault> {
        for at in self.places().into_iter().filter(|at| *at > 0) {
            let Some(equal) = equals(&retrieved, at) else { continue };
            let ids: Vec<i64> = retrieved[equal.clone()].iter().map(|(chunk_id, _)| *chunk_id).collect();
            let places = reads.places(&ids).await?.into_iter();
            let places: HashMap<i64, _> = places
                .map(|place| (place.chunk_id, (place.path, place.repository_id, place.start_line)))
                .collect();
            retrieved[equal].sort_by(|(a, _), (b, _)| places.get(a).cmp(&places.get(b)).then(a.cmp(b)));
        }
        retrieved.truncate(self.all);
        Ok(retrieved)
    }

    fn places(self) -> [usize; 2] {
        [self.first_page, self.all]
    }
}

/// Returns the range of equal scores that a cut before `at` goes through.
fn equals(retrieved: &Retrieved, at: usize) -> Option<std::ops::Range<usize>> {
    let score = retrieved.get(at)?.1;
    if !is_equal(retrieved[at - 1].1, score) {
        return None;
    }
    let before = retrieved[..at].iter().rev().take_while(|(_, other)| is_equal(*other, score)).count();
    let after = retrieved[at..].iter().take_while(|(_, other)| is_equal(*other, score)).count();
    Some(at - before..at + after)
}

fn is_equal(a: f32, b: f32) -> bool {
    a.total_cmp(&b).is_eq()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(scores: &[f32]) -> Retrieved {
        (1..).zip(scores.iter().copied()).collect()
    }

    #[test]
    fn a_cut_goes_through_equal_scores_or_between_different_ones() {
        let retrieved = list(&[9.0, 5.0, 5.0, 5.0, 1.0]);
        assert_eq!(equals(&retrieved, 2), Some(1..4));
        assert_eq!(equals(&retrieved, 3), Some(1..4));
        assert_eq!((equals(&retrieved, 1), equals(&retrieved, 4), equals(&retrieved, 5)), (None, None, None));
    }

    #[test]
    fn more_is_read_only_if_equal_scores_go_on_behind_a_cut() {
        let again = |first_page, all, scores: &[f32]| Cuts { first_page, all }.read_again(&list(scores));
        assert_eq!(again(2, 2, &[5.0, 4.0, 4.0]), Some(READ_MAX));
        assert_eq!(again(2, 2, &[5.0, 4.0, 3.0]), None, "nothing is cut");
        assert_eq!(again(2, 2, &[5.0, 4.0]), None, "all were read");
        assert_eq!(again(1, 3, &[4.0, 4.0, 4.0, 4.0]), Some(READ_MAX));
        assert_eq!(again(1, 3, &[4.0, 4.0, 3.0, 2.0]), None, "the equal ones were all read");
        assert_eq!(again(2, 2, &[]), None);
    }
}
