//! Recall and mean reciprocal rank by setting and category.

use std::fmt::Write;

use super::page::Page;
use super::questions::Question;

/// The rows of the summary, in the order in which questions came.
#[derive(Default)]
pub(super) struct Figures {
    rows: Vec<Row>,
}

/// Sums over the questions of one setting and category.
#[derive(Debug, Clone, PartialEq, Default)]
struct Row {
    setting: String,
    category: String,
    questions: u32,
    recall_at_1: f64,
    recall_at_5: f64,
    reciprocal_rank: f64,
}

impl Figures {
    /// Counts an answered question, for its category and for all.
    pub(super) fn add(&mut self, setting: &str, question: &Question, page: &Page) {
        let ranks = question.ranks(page);
        for category in [question.category.as_str(), "all"] {
            let is_it = |row: &Row| row.setting == setting && row.category == category;
            let at = self.rows.iter().position(is_it).unwrap_or_else(|| {
                let (setting, category) = (setting.to_owned(), category.to_owned());
                self.rows.push(Row { setting, category, ..Row::default() });
                self.rows.len() - 1
            });
            self.rows[at].add(&ranks);
        }
    }

    /// A line a row; those over all categories come last within their setting.
    pub(super) fn table(mut self) -> String {
        self.rows.sort_by_key(|row| (row.setting.clone(), row.category == "all"));
        let mut text = String::from("setting  category      questions  recall@1  recall@5    MRR\n");
        for row in &self.rows {
            let mean = |sum: f64| sum / f64::from(row.questions);
            let (setting, category, questions) = (&row.setting, &row.category, row.questions);
            let (one, five) = (mean(row.recall_at_1), mean(row.recall_at_5));
            let reciprocal = mean(row.reciprocal_rank);
            writeln!(
                text,
                "{setting:<7}  {category:<12}  {questions:>9}  {one:>8.3}  {five:>8.3}  {reciprocal:.3}"
            )
            .unwrap();
        }
        text
    }
}

impl Row {
    fn add(&mut self, ranks: &[Option<usize>]) {
        self.questions += 1;
        self.recall_at_1 += recall(ranks, 1);
        self.recall_at_5 += recall(ranks, 5);
        self.reciprocal_rank += ranks.iter().flatten().min().map_or(0.0, |rank| 1.0 / number(*rank));
    }
}

/// Targets among the first `k` hits, as a share of those that have room there.
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
    fn recall_counts_targets_that_have_room() {
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
        assert_eq!(row.questions, 2);
    }
}
