//! Counts the files that the last index runs of repositories omitted, from the reports of the runs.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::scan::SCANNED;
use crate::indexing::{SkipReason, SkippedFiles};
use contract::clock::iso_from_millis;
use contract::{COVERAGE_NAMES_MAX, Coverage, LeftOut, LeftOutFile, SearchedRepository};
use store::RepositoryRow;

/// Reasons of files without content that could have been found, or that no longer exist.
const WITHOUT_CONTENT: &[SkipReason] = &[SkipReason::Empty, SkipReason::Gone, SkipReason::OwnData];

/// The part of a run's report that counts here.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Reported {
    files: u64,
    skipped: Vec<SkippedFiles>,
}

/// Returns the coverage of an answer: the searched repositories and the omitted files, without their content.
#[must_use]
pub fn coverage_of(rows: &[RepositoryRow]) -> Coverage {
    let mut skipped: Vec<(&str, SkippedFiles)> = Vec::new();
    let mut searched = Vec::new();
    for row in rows {
        let reported = row.report.as_ref().and_then(|report| Reported::deserialize(report).ok());
        let Reported { files, skipped: of_row } = reported.unwrap_or_default();
        if searched.len() < COVERAGE_NAMES_MAX {
            searched.push(SearchedRepository {
                name: row.name.clone(),
                files: files.max(row.files.unsigned_abs()),
                commit: row.commit.clone(),
                indexed_at: row.indexed_ms.map(iso_from_millis),
            });
        }
        let counts = |one: &SkippedFiles| {
            SkipReason::parse(&one.reason).is_none_or(|reason| !WITHOUT_CONTENT.contains(&reason))
        };
        skipped.extend(of_row.into_iter().filter(counts).map(|one| (row.name.as_str(), one)));
    }
    let left_out = left_out(&skipped, rows.len() > 1);
    Coverage { repositories: rows.len(), searched, left_out }
}

fn left_out(skipped: &[(&str, SkippedFiles)], with_repository: bool) -> Option<LeftOut> {
    let mut reasons: BTreeMap<String, u64> = BTreeMap::new();
    for (_, one) in skipped {
        *reasons.entry(one.reason.clone()).or_default() += one.count;
    }
    let count = reasons.values().sum();
    (count > 0).then(|| LeftOut {
        count,
        reasons,
        examples: examples(skipped, with_repository),
        ..LeftOut::default()
    })
}

/// Returns a few names: the first of each reason before the second of any; text files come before all others.
fn examples(skipped: &[(&str, SkippedFiles)], with_repository: bool) -> Vec<LeftOutFile> {
    let rank = |reason: &str| SCANNED.iter().position(|scanned| scanned.as_str() == reason);
    let mut named: Vec<(usize, usize, LeftOutFile)> = Vec::new();
    for (repository, one) in skipped {
        let reason_rank = rank(&one.reason).unwrap_or(SCANNED.len());
        let files = one.examples.iter().take(COVERAGE_NAMES_MAX).enumerate();
        named.extend(files.map(|(at, path)| {
            let repo = with_repository.then(|| (*repository).to_owned());
            (at, reason_rank, LeftOutFile { file: path.clone(), repo, reason: one.reason.clone() })
        }));
    }
    named.sort_by_key(|(at, reason_rank, _)| (*at, *reason_rank));
    named.into_iter().take(COVERAGE_NAMES_MAX).map(|(.., file)| file).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skipped(reason: &str, count: u64, examples: &[&str]) -> SkippedFiles {
        let examples = examples.iter().map(|path| (*path).to_owned()).collect();
        SkippedFiles { reason: reason.to_owned(), count, examples }
    }

    #[test]
    fn each_reason_is_counted_and_text_is_named_first() {
        let all = [
            ("shop", skipped("vendored", 2, &["node_modules/", "vendor/"])),
            ("shop", skipped("minified", 7, &["a.js", "b.js", "c.js"])),
            ("bank", skipped("minified", 1, &["z.js"])),
        ];
        let found = left_out(&all, true).unwrap();
        assert_eq!(found.count, 10);
        assert_eq!(found.reasons, BTreeMap::from([("minified".to_owned(), 8), ("vendored".to_owned(), 2)]));
        let named: Vec<String> = found
            .examples
            .iter()
            .map(|one| format!("{}/{}", one.repo.as_deref().unwrap(), one.file))
            .collect();
        assert_eq!(named, ["shop/a.js", "bank/z.js", "shop/node_modules/"]);
        assert_eq!(left_out(&[], false), None);
    }
}
