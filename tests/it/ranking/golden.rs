//! The golden files: compared with what came out, or written anew with `UPDATE_RANKING=1`.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use imara_diff::{Algorithm, BasicLineDiffPrinter, Diff, InternedInput, UnifiedDiffConfig};

/// Files that a failure shows whole diffs of; `git diff` shows all, after an update.
const SHOWN_MAX: usize = 12;

/// A folder of golden files, and what was found wrong with them.
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
    /// With `updating`, what differs is written and not told.
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

    /// Looks for files that no question has, and fails with everything that differs, the summary first.
    pub(super) fn finish(mut self) {
        for path in self.files().difference(&self.checked) {
            if self.updating {
                fs::remove_file(path).unwrap();
            } else {
                let name = path.strip_prefix(&self.folder).unwrap().display().to_string();
                self.diffs.push((name, "belongs to no question\n".to_owned()));
            }
        }
        assert!(self.diffs.is_empty(), "{}", self.complaint());
    }

    /// All golden files there are.
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

    fn complaint(&mut self) -> String {
        self.diffs.sort_by_key(|(name, _)| (name.contains('/'), name.clone()));
        let mut text = format!("\nThe ranking changed: {} golden files differ.\n", self.diffs.len());
        for (name, diff) in self.diffs.iter().take(SHOWN_MAX) {
            write!(text, "\ntests/ranking/golden/{name}\n{diff}").unwrap();
        }
        let hidden: Vec<&str> = self.diffs.iter().skip(SHOWN_MAX).map(|(name, _)| name.as_str()).collect();
        if !hidden.is_empty() {
            write!(text, "\n… and {}: {}\n", hidden.len(), hidden.join(", ")).unwrap();
        }
        text + "\nIf the change is meant, run UPDATE_RANKING=1 cargo test --test it ranking and commit the diff.\n"
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
    fn a_moved_hit_reads_as_a_small_diff_below_the_summary() {
        let (_folder, mut golden) =
            golden(&[("words/q.txt", "  a\n  b\n  c\n  d\n"), ("summary.txt", "0.9\n")]);
        golden.check("words/q.txt", "  a\n  c\n  b\n  d\n".to_owned());
        golden.check("summary.txt", "0.8\n".to_owned());
        let complaint = golden.complaint();
        let (summary, moved) =
            (complaint.find("-0.9\n+0.8").unwrap(), complaint.find("words/q.txt").unwrap());
        assert!(summary < moved, "{complaint}");
        assert_eq!(complaint[moved..].matches("\n-  ").count(), 1, "{complaint}");
        assert!(complaint.contains("UPDATE_RANKING=1"), "{complaint}");
    }

    #[test]
    fn an_update_writes_what_differs_and_removes_what_no_question_has() {
        let (folder, golden) = golden(&[("summary.txt", "a\n"), ("words/old.txt", "b\n")]);
        let mut golden = Golden { updating: true, ..golden };
        golden.check("summary.txt", "c\n".to_owned());
        golden.check("words/new.txt", "d\n".to_owned());
        golden.finish();
        let golden = Golden::open(folder.path().to_owned(), false);
        assert_eq!(
            golden.files(),
            ["summary.txt", "words/new.txt"].map(|name| folder.path().join(name)).into()
        );
        assert_eq!(golden.committed("summary.txt").unwrap(), "c\n");
    }

    #[test]
    #[should_panic(expected = "belongs to no question")]
    fn a_file_that_no_question_has_is_told() {
        let (_folder, mut golden) = golden(&[("words/q.txt", "a\n"), ("words/old.txt", "b\n")]);
        golden.check("words/q.txt", "a\n".to_owned());
        golden.finish();
    }
}
