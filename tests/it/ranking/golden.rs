//! The golden files: compared with the current answers, or rewritten with `UPDATE_RANKING=1`.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use imara_diff::{Algorithm, BasicLineDiffPrinter, Diff, InternedInput, UnifiedDiffConfig};

/// The number of diffs that a failure shows. After an update, `git diff` shows all.
const SHOWN_MAX: usize = 12;

/// A folder of golden files, and the differences found so far.
pub(super) struct Golden {
    folder: PathBuf,
    updating: bool,
    checked: BTreeSet<PathBuf>,
    diffs: Vec<(String, String)>,
}

#[expect(
    clippy::disallowed_methods,
    reason = "UPDATE_RANKING=1 rewrites the golden files after a deliberate change"
)]
pub(super) fn updating() -> bool {
    std::env::var_os("UPDATE_RANKING").is_some()
}

impl Golden {
    /// With `updating`, files that differ are rewritten instead of reported.
    pub(super) fn open(folder: PathBuf, updating: bool) -> Self {
        Self { folder, updating, checked: BTreeSet::new(), diffs: Vec::new() }
    }

    /// The file as it is committed.
    pub(super) fn committed(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.folder.join(name)).ok()
    }

    pub(super) fn differs(&self, name: &str, text: &str) -> bool {
        self.committed(name).as_deref() != Some(text)
    }

    /// Compares the file with `text`, or writes it.
    pub(super) fn check(&mut self, name: &str, text: String) {
        let path = self.folder.join(name);
        if self.differs(name, &text) {
            if self.updating {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, text).unwrap();
            } else {
                self.diffs.push((name.to_owned(), diff(&self.committed(name).unwrap_or_default(), &text)));
            }
        }
        self.checked.insert(path);
    }

    /// Reports files that belong to no query, and panics if anything differs, with the summary first.
    pub(super) fn finish(mut self) {
        for path in self.files().difference(&self.checked) {
            if self.updating {
                fs::remove_file(path).unwrap();
            } else {
                let name = path.strip_prefix(&self.folder).unwrap().display().to_string();
                self.diffs.push((name, "belongs to no query\n".to_owned()));
            }
        }
        assert!(self.diffs.is_empty(), "{}", self.failure_message());
    }

    /// All golden files.
    fn files(&self) -> BTreeSet<PathBuf> {
        let mut found = BTreeSet::new();
        let mut open = vec![self.folder.clone()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    open.push(path);
                } else {
                    found.insert(path);
                }
            }
        }
        found
    }

    fn failure_message(&mut self) -> String {
        self.diffs.sort_by_key(|(name, _)| (name.contains('/'), name.clone()));
        let mut text = format!("\nThe ranking changed: {} golden files differ.\n", self.diffs.len());
        for (name, diff) in self.diffs.iter().take(SHOWN_MAX) {
            write!(text, "\ntests/ranking/golden/{name}\n{diff}").unwrap();
        }
        let hidden: Vec<&str> = self.diffs.iter().skip(SHOWN_MAX).map(|(name, _)| name.as_str()).collect();
        if !hidden.is_empty() {
            write!(text, "\n… and {}: {}\n", hidden.len(), hidden.join(", ")).unwrap();
        }
        text + "\nIf the change is intended, run UPDATE_RANKING=1 cargo test --test it -- ranking and commit the diff.\n"
    }
}

/// A unified diff by lines.
fn diff(before: &str, after: &str) -> String {
    let input = InternedInput::new(before, after);
    let mut diff = Diff::compute(Algorithm::Myers, &input);
    diff.postprocess_lines(&input);
    let mut config = UnifiedDiffConfig::default();
    config.context_len(1);
    diff.unified_diff(&BasicLineDiffPrinter(&input.interner), config, &input).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn golden(files: &[(&str, &str)]) -> (tempfile::TempDir, Golden) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let golden = Golden::open(folder.path().to_owned(), false);
        (folder, golden)
    }

    #[test]
    fn a_moved_hit_is_a_small_diff_below_the_summary() {
        let (_folder, mut golden) =
            golden(&[("lexical/q.txt", "  a\n  b\n  c\n  d\n"), ("summary.txt", "0.9\n")]);
        golden.check("lexical/q.txt", "  a\n  c\n  b\n  d\n".to_owned());
        golden.check("summary.txt", "0.8\n".to_owned());
        let failure_message = golden.failure_message();
        let (summary, moved) =
            (failure_message.find("-0.9\n+0.8").unwrap(), failure_message.find("lexical/q.txt").unwrap());
        assert!(summary < moved, "{failure_message}");
        assert_eq!(failure_message[moved..].matches("\n-  ").count(), 1, "{failure_message}");
        assert!(failure_message.contains("UPDATE_RANKING=1"), "{failure_message}");
    }

    #[test]
    fn an_update_rewrites_changed_files_and_removes_files_without_a_query() {
        let (folder, golden) = golden(&[("summary.txt", "a\n"), ("lexical/old.txt", "b\n")]);
        let mut golden = Golden { updating: true, ..golden };
        golden.check("summary.txt", "c\n".to_owned());
        golden.check("lexical/new.txt", "d\n".to_owned());
        golden.finish();
        let golden = Golden::open(folder.path().to_owned(), false);
        assert_eq!(
            golden.files(),
            ["summary.txt", "lexical/new.txt"].map(|name| folder.path().join(name)).into()
        );
        assert_eq!(golden.committed("summary.txt").unwrap(), "c\n");
    }

    #[test]
    #[should_panic(expected = "belongs to no query")]
    fn a_file_without_a_query_is_reported() {
        let (_folder, mut golden) = golden(&[("lexical/q.txt", "a\n"), ("lexical/old.txt", "b\n")]);
        golden.check("lexical/q.txt", "a\n".to_owned());
        golden.finish();
    }
}
