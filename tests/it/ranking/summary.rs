//! Recall and mean reciprocal rank by setting and category.

use std::fmt::Write;

use super::page::Page;
use super::queries::Query;

/// The rows of the summary.
#[derive(Default)]
pub(super) struct Summary {
    rows: Vec<Row>,
}

/// Sums over the queries of one setting and category.
#[derive(Debug, Clone, PartialEq, Default)]
struct Row {
    setting: String,
    category: String,
    queries: u32,
    recall_at_1: f64,
    recall_at_5: f64,
    reciprocal_rank: f64,
}

impl Summary {
    /// Adds an answered query to the row of its category and to the row of all categories.
    pub(super) fn add(&mut self, setting: &str, query: &Query, page: &Page) {
        let ranks = query.ranks(page);
        for category in [query.category.as_str(), "all"] {
            let matches = |row: &Row| row.setting == setting && row.category == category;
            let at = self.rows.iter().position(matches).unwrap_or_else(|| {
                let (setting, category) = (setting.to_owned(), category.to_owned());
                self.rows.push(Row { setting, category, ..Row::default() });
                self.rows.len() - 1
            });
            self.rows[at].add(&ranks);
        }
    }

    /// The summary, one line per row; the row of all categories comes last in its setting.
    pub(super) fn table(mut self) -> String {
        self.rows.sort_by_key(|row| (row.setting.clone(), row.category == "all"));
        let mut text = String::from("setting  category        queries  recall@1  recall@5    MRR\n");
        for row in &self.rows {
            let mean = |sum: f64| sum / f64::from(row.queries);
            let (setting, category, queries) = (&row.setting, &row.category, row.queries);
            let (one, five) = (mean(row.recall_at_1), mean(row.recall_at_5));
            let reciprocal = mean(row.reciprocal_rank);
            writeln!(
                text,
                "{setting:<7}  {category:<12}  {queries:>9}  {one:>8.3}  {five:>8.3}  {reciprocal:.3}"
            )
            .unwrap();
        }
        text
    }
}

impl Row {
    fn add(&mut self, ranks: &[Option<usize>]) {
        self.queries += 1;
        self.recall_at_1 += recall(ranks, 1);
        self.recall_at_5 += recall(ranks, 5);
        self.reciprocal_rank += ranks.iter().flatten().min().map_or(0.0, |rank| 1.0 / number(*rank));
    }
}

/// Recall@k: the share of the targets that are among the first `k` hits, where at most `k` targets count.
fn recall(ranks: &[Option<usize>], k: usize) -> f64 {
    let found = ranks.iter().flatten().filter(|rank| **rank <= k).count().min(k);
    number(found) / number(ranks.len().min(k))
}

fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recall_counts_only_as_many_targets_as_have_room() {
        let ranks = [Some(1), Some(4), None];
        assert!((recall(&ranks, 1) - 1.0).abs() < 1e-9);
        assert!((recall(&ranks, 5) - 2.0 / 3.0).abs() < 1e-9);
        assert!(recall(&[None], 5).abs() < 1e-9);
        // One hit may answer two targets.
        assert!((recall(&[Some(1), Some(1)], 1) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn the_first_target_counts_for_the_reciprocal_rank() {
        let mut row = Row::default();
        row.add(&[Some(4), Some(2)]);
        row.add(&[None]);
        assert!((row.reciprocal_rank - 0.5).abs() < 1e-9);
        assert_eq!(row.queries, 2);
    }
}
