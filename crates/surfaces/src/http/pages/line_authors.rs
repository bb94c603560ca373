//! The column beside the lines of a file that shows their authors and dates.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use maud::{Markup, html};

use super::text::minute;
use gate::tools::browse::{KnownCommit, KnownLines};

/// Renders the labels of the column for the shown lines, keyed by the line that each is beside: the first of a run.
pub(super) fn labels(lines: &KnownLines, shown: RangeInclusive<u32>) -> BTreeMap<u32, Markup> {
    let (first, last) = (*shown.start(), *shown.end());
    let runs = lines.runs.iter().filter(|run| run.end_line >= first && run.start_line <= last);
    // A run that began on an earlier page has its label on the first line of this one.
    runs.map(|run| (run.start_line.max(first), label(lines.commit_of(run)))).collect()
}

fn label(commit: Option<&KnownCommit>) -> Markup {
    let Some(commit) = commit else { return html! { span.by { "not committed " } } };
    let day = commit.at.get(..10).unwrap_or(&commit.at);
    html! {
        // The column may be too narrow for the author. The name is last, because it may be written from right to left.
        span.by title={ "Commit " (commit.id) ", " (minute(&commit.at)) ", by " (commit.author) } {
            bdi { (commit.author) } " " time datetime=(commit.at) { (day) } " "
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gate::tools::browse::KnownRun;

    #[test]
    fn each_run_has_its_label_beside_its_first_line_on_the_page() {
        let (id, at) = ("c".repeat(40), "2022-06-15T12:00:00Z".to_owned());
        let commit = KnownCommit { id, author: "<Ann>".to_owned(), at };
        let run = |start_line, end_line, commit| KnownRun { start_line, end_line, commit };
        let lines = KnownLines {
            commits: vec![commit],
            runs: vec![run(1, 3, Some(0)), run(4, 4, None), run(5, 9, Some(0)), run(10, 12, None)],
        };
        let found = labels(&lines, 2..=9);
        assert_eq!(found.keys().copied().collect::<Vec<_>>(), [2, 4, 5]);
        let ann = format!(
            "<span class=\"by\" title=\"Commit {}, 2022-06-15 12:00 UTC, by &lt;Ann&gt;\"><bdi>&lt;Ann&gt;</bdi> \
             <time datetime=\"2022-06-15T12:00:00Z\">2022-06-15</time> </span>",
            "c".repeat(40)
        );
        assert_eq!((found[&2].0.as_str(), found[&5].0.as_str()), (ann.as_str(), ann.as_str()));
        assert_eq!(found[&4].0, "<span class=\"by\">not committed </span>");
        assert!(labels(&lines, 13..=20).is_empty());
    }
}
