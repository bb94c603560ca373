//! Ranking metrics.

use std::collections::HashSet;

/// A known answer: a file, or lines of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    /// Its path, or the end of it.
    pub(super) path: String,
    /// First and last line; `None` if the whole file counts.
    pub(super) lines: Option<(u32, u32)>,
}

/// The location of a hit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HitLocation {
    /// Name of its repository, if that is not the one that was asked about; such a hit answers nothing.
    pub(super) stranger: Option<String>,
    pub(super) path: String,
    pub(super) lines: (u32, u32),
}

impl Target {
    /// Returns `true` if the paths match, or one is a suffix of the other, and the lines overlap if the target has lines.
    pub(super) fn is_met_by(&self, found: &HitLocation) -> bool {
        let same = ends_with(&found.path, &self.path) || ends_with(&self.path, &found.path);
        found.stranger.is_none()
            && same
            && self.lines.is_none_or(|(from, to)| found.lines.0 <= to && from <= found.lines.1)
    }
}

/// Returns `true` if `path` is `end`, or ends with it after a `/`.
fn ends_with(path: &str, end: &str) -> bool {
    path.strip_suffix(end)
        .is_some_and(|start| start.is_empty() || start.ends_with('/') || end.starts_with('/'))
}

/// For each target the rank (from 1) of the first matching hit.
pub(super) fn ranks(targets: &[Target], found: &[HitLocation]) -> Vec<Option<usize>> {
    targets
        .iter()
        .map(|target| found.iter().position(|found| target.is_met_by(found)).map(|at| at + 1))
        .collect()
}

/// The best hit of each file, in order.
pub(super) fn by_file(found: &[HitLocation]) -> Vec<HitLocation> {
    let mut seen = HashSet::new();
    found.iter().filter(|found| seen.insert((&found.stranger, found.path.as_str()))).cloned().collect()
}

/// The files of the targets, each once, without lines.
pub(super) fn files(targets: &[Target]) -> Vec<Target> {
    let mut seen = HashSet::new();
    let files = targets.iter().filter(|target| seen.insert(target.path.as_str()));
    files.map(|target| Target { path: target.path.clone(), lines: None }).collect()
}

/// Binary NDCG at `k`, with the rank of the first matching hit for each target.
#[expect(clippy::cast_precision_loss, reason = "ranks are small")]
pub(super) fn ndcg(ranks: &[Option<usize>], k: usize) -> f64 {
    let gain = |rank: usize| 1.0 / ((rank + 1) as f64).log2();
    // Not `sum`, which is -0 for no ranks.
    let found = ranks.iter().flatten().filter(|rank| **rank <= k);
    let got = found.fold(0.0, |sum, rank| sum + gain(*rank));
    let best: f64 = (1..=ranks.len().min(k)).map(gain).sum();
    if best > 0.0 { got / best } else { 0.0 }
}

/// Returns `true` if every target has rank `k` or better.
pub(super) fn all_within(ranks: &[Option<usize>], k: usize) -> bool {
    ranks.iter().all(|rank| rank.is_some_and(|rank| rank <= k))
}

/// The mean; 0 for an empty list.
pub(super) fn mean(numbers: impl IntoIterator<Item = f64>) -> f64 {
    let (sum, count) = numbers.into_iter().fold((0.0, 0), |(sum, count), number| (sum + number, count + 1));
    if count == 0 { 0.0 } else { sum / f64::from(count) }
}

/// Rounds to four decimal places.
pub(super) fn rounded(number: f64) -> f64 {
    (number * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, from: u32, to: u32) -> HitLocation {
        HitLocation { stranger: None, path: path.to_owned(), lines: (from, to) }
    }

    fn target(path: &str, lines: Option<(u32, u32)>) -> Target {
        Target { path: path.to_owned(), lines }
    }

    #[test]
    fn a_target_is_met_by_the_end_of_a_path_and_overlapping_lines() {
        assert!(target("src/a.rs", None).is_met_by(&found("core/src/a.rs", 1, 9)));
        assert!(target("core/src/a.rs", None).is_met_by(&found("src/a.rs", 1, 9)));
        assert!(!target("a.rs", None).is_met_by(&found("src/ba.rs", 1, 9)));
        assert!(target("a.rs", Some((9, 20))).is_met_by(&found("a.rs", 1, 9)));
        assert!(!target("a.rs", Some((10, 20))).is_met_by(&found("a.rs", 1, 9)));
    }

    #[test]
    fn a_hit_of_another_repository_answers_nothing() {
        let stranger = HitLocation { stranger: Some("b".to_owned()), ..found("src/a.rs", 1, 9) };
        assert!(!target("src/a.rs", None).is_met_by(&stranger));
        assert_eq!(by_file(&[stranger, found("src/a.rs", 1, 9)]).len(), 2, "same path, two files");
    }

    #[test]
    fn the_files_of_targets_have_no_lines_and_count_once() {
        let targets = [target("a", Some((1, 2))), target("a", Some((8, 9))), target("b", None)];
        assert_eq!(files(&targets), [target("a", None), target("b", None)]);
    }

    #[test]
    fn ndcg_is_one_at_the_top_and_falls_with_the_rank() {
        let list = [found("a", 1, 2), found("a", 3, 4), found("b", 1, 2)];
        assert_eq!(
            ranks(&[target("a", None), target("b", None), target("c", None)], &list),
            [Some(1), Some(3), None]
        );
        assert_eq!(by_file(&list).len(), 2);
        assert!((ndcg(&[Some(1)], 10) - 1.0).abs() < 1e-9);
        assert!((ndcg(&[Some(3)], 10) - 0.5).abs() < 1e-9);
        assert!((ndcg(&[Some(2), Some(1)], 10) - 1.0).abs() < 1e-9);
        assert_eq!(ndcg(&[Some(11), None], 10).to_string(), "0", "and not -0");
        let many: Vec<_> = (1..=20).map(Some).collect();
        assert!((ndcg(&many, 10) - 1.0).abs() < 1e-9, "no more than ten targets can be asked of ten places");
    }

    #[test]
    fn all_targets_must_be_within() {
        assert!(all_within(&[Some(1), Some(5)], 5));
        assert!(!all_within(&[Some(1), Some(6)], 5));
        assert!(!all_within(&[None], 5));
    }
}
