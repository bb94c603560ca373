//! Folds equal texts: a vendored file, a work tree or a fork repeats texts of others, and each text is one hit, the one that
//! ranks first.
//!
//! Folding is a function of the ranked list alone and keeps its order, so the folded beginning of a list is the beginning of the
//! folded list: further candidates, which follow, change no earlier page.

use std::collections::HashSet;

use crate::search::rank::ranking::Ranking;
use crate::search::rank::scores::RankedChunk;
use store::CandidateText;

/// Hash of a text that equal texts are folded by.
pub type TextHash = [u8; 32];

/// Returns the hash by which equal texts are folded; `None` for a text that is too short. An empty initializer, a getter or a line
/// of a licence says something only by its place, so each of its places is a hit.
pub(in crate::search) fn text_hash(text: Option<CandidateText>, ranking: &Ranking) -> Option<TextHash> {
    let is_long = |text: &CandidateText| {
        text.lines >= ranking.duplicate_lines_min && text.bytes >= ranking.duplicate_bytes_min
    };
    text.filter(is_long).map(|text| text.hash)
}

/// Keeps the first chunk of each text. `order` has the chunks of all parts with their parts, best first.
pub(in crate::search) fn fold(order: &mut Vec<(usize, RankedChunk)>) {
    let mut seen = HashSet::new();
    order.retain(|(_, chunk)| is_new(&mut seen, chunk));
}

/// Returns whether the first `hits` of the folded `order` may change once the parts that are `cut_short` have further
/// candidates. These follow the candidates that a part has now, but not those of other parts.
pub(in crate::search) fn is_short(order: &[(usize, RankedChunk)], cut_short: &[bool], hits: usize) -> bool {
    let mut left = vec![0_usize; cut_short.len()];
    order.iter().for_each(|(part, _)| left[*part] += 1);
    let (mut seen, mut kept) = (HashSet::new(), 0);
    for (part, chunk) in order {
        if kept >= hits {
            return false;
        }
        if left.iter().zip(cut_short).any(|(left, cut_short)| *cut_short && *left == 0) {
            return true;
        }
        left[*part] -= 1;
        kept += usize::from(is_new(&mut seen, chunk));
    }
    kept < hits && cut_short.contains(&true)
}

fn is_new(seen: &mut HashSet<TextHash>, chunk: &RankedChunk) -> bool {
    chunk.text.is_none_or(|text| seen.insert(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::rank::scores::ScoreParts;
    use proptest::prelude::*;

    /// Chunks of parts, each with the number of its text; 0 is too short to be folded.
    fn order(rows: &[(usize, u8)]) -> Vec<(usize, RankedChunk)> {
        let chunk = |(id, (part, text)): (i64, &(usize, u8))| {
            let text = (*text > 0).then_some([*text; 32]);
            (*part, RankedChunk { chunk_id: id, score: 1.0, parts: ScoreParts::default(), text })
        };
        (0..).zip(rows).map(chunk).collect()
    }

    fn folded(rows: &[(usize, u8)]) -> Vec<i64> {
        let mut order = order(rows);
        fold(&mut order);
        order.iter().map(|(_, chunk)| chunk.chunk_id).collect()
    }

    #[test]
    fn the_first_of_equal_texts_stays() {
        assert_eq!(folded(&[(0, 1), (1, 1), (0, 2), (0, 1), (1, 3), (1, 2)]), [0, 2, 4]);
        assert_eq!(folded(&[(0, 0), (0, 0), (1, 0)]), [0, 1, 2], "short texts stay");
    }

    #[test]
    fn a_text_is_folded_from_a_minimal_size_on() {
        let ranking = Ranking::default();
        let text = |lines, bytes| Some(CandidateText { hash: [1; 32], lines, bytes });
        assert_eq!(text_hash(text(3, 100), &ranking), Some([1; 32]));
        for short in [text(2, 100), text(3, 99), None] {
            assert_eq!(text_hash(short, &ranking), None);
        }
    }

    #[test]
    fn a_page_is_short_if_a_part_that_is_cut_short_runs_out_on_it() {
        let rows = order(&[(0, 1), (0, 1), (1, 2), (1, 3)]);
        assert!(!is_short(&rows, &[false, false], 9), "there are no more");
        assert!(!is_short(&rows, &[true, false], 1));
        assert!(
            is_short(&rows, &[true, false], 2),
            "a further one of the first could precede the second hit"
        );
        assert!(!is_short(&rows, &[false, true], 3));
        assert!(is_short(&rows, &[false, true], 4));
    }

    /// The places and texts of a part's candidates, best first.
    type Rows = Vec<(u8, u8)>;

    /// Lists of the parts before and after further candidates were retrieved, merged by the numbers of their places.
    fn merged(parts: &[Rows]) -> Vec<(usize, u8)> {
        let (mut heads, mut rows) = (vec![0; parts.len()], Vec::new());
        while let Some(part) = (0..parts.len())
            .filter(|part| heads[*part] < parts[*part].len())
            .max_by_key(|part| (parts[*part][heads[*part]].0, std::cmp::Reverse(*part)))
        {
            rows.push((part, parts[part][heads[part]].1));
            heads[part] += 1;
        }
        rows
    }

    fn part() -> impl Strategy<Value = (Rows, Rows)> {
        let rows = |max| proptest::collection::vec((0_u8..20, 0_u8..8), 1..max);
        (rows(12), prop_oneof![Just(Vec::new()), rows(8)])
    }

    proptest! {
        #[test]
        fn folding_loses_no_text_and_keeps_the_order(rows in proptest::collection::vec((0_usize..3, 0_u8..6), 0..40)) {
            let (all, mut kept) = (order(&rows), order(&rows));
            fold(&mut kept);
            let texts = |rows: &[(usize, RankedChunk)]| rows.iter().filter_map(|(_, row)| row.text).collect::<HashSet<_>>();
            prop_assert_eq!(texts(&all), texts(&kept));
            prop_assert_eq!(kept.iter().filter(|(_, row)| row.text.is_some()).count(), texts(&all).len());
            let short = |rows: &[(usize, RankedChunk)]| rows.iter().filter(|(_, row)| row.text.is_none()).count();
            prop_assert_eq!(short(&all), short(&kept));
            prop_assert!(kept.windows(2).all(|pair| pair[0].1.chunk_id < pair[1].1.chunk_id));
            for (at, (_, row)) in all.iter().enumerate() {
                let is_first = row.text.is_none() || all[..at].iter().all(|(_, other)| other.text != row.text);
                prop_assert_eq!(kept.iter().any(|(_, other)| other.chunk_id == row.chunk_id), is_first);
            }
            for end in 0..rows.len() {
                prop_assert!(folded(&rows).starts_with(&folded(&rows[..end])), "further candidates change no page");
            }
        }

        #[test]
        fn a_page_that_is_not_short_stays_with_further_candidates(parts in proptest::collection::vec(part(), 1..4), hits in 0_usize..12) {
            let first: Vec<Rows> = parts.iter().map(|(first, _)| first.clone()).collect();
            let cut_short: Vec<bool> = parts.iter().map(|(_, further)| !further.is_empty()).collect();
            let whole: Vec<Rows> = parts.into_iter().map(|(first, further)| [first, further].concat()).collect();
            let page = |rows: &[(usize, u8)]| {
                let mut seen = HashSet::new();
                let mut rows = rows.to_vec();
                rows.retain(|(_, text)| *text == 0 || seen.insert(*text));
                rows.truncate(hits);
                rows
            };
            let (before, after) = (merged(&first), merged(&whole));
            if !is_short(&order(&before), &cut_short, hits) {
                prop_assert_eq!(page(&before), page(&after));
            }
        }
    }
}
