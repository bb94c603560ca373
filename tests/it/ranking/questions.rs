//! The questions of `tests/ranking/questions/`, one file a category, and what each wants to find.

use std::collections::HashSet;
use std::fmt::Write;
use std::fs;

use serde::Deserialize;

use super::folder;
use super::page::{Hit, Page};

/// Separates a target's path from a text that stands in the line meant.
const AT: &str = " @ ";
/// Heads the ranked lines of a golden file.
pub(super) const RANKED: &str = "ranked:";
/// Most characters of a question that its golden file repeats.
const SHOWN_CHARS: usize = 100;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    question: Vec<Written>,
}

/// A question as it is written down.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    id: String,
    ask: String,
    targets: Vec<String>,
}

/// A question with its category and what answers it.
pub(super) struct Question {
    pub(super) category: String,
    written: Written,
    targets: Vec<Target>,
}

/// What answers: a file, or the hit of it that holds a line.
struct Target {
    file: String,
    line: Option<u64>,
}

/// All questions, by category and then as they stand in its file.
pub(super) fn all() -> Vec<Question> {
    let mut names: Vec<_> = fs::read_dir(folder("questions")).unwrap().map(|e| e.unwrap().path()).collect();
    names.sort();
    let mut questions = Vec::new();
    for name in names {
        let category = name.file_stem().unwrap().to_string_lossy().into_owned();
        let file: File = toml::from_str(&fs::read_to_string(&name).unwrap()).unwrap();
        questions.extend(file.question.into_iter().map(|written| Question::new(&category, written)));
    }
    let ids: HashSet<String> = questions.iter().map(Question::id).collect();
    assert_eq!(ids.len(), questions.len(), "two questions of one category have the same id");
    questions
}

impl Question {
    fn new(category: &str, written: Written) -> Self {
        let targets: Vec<Target> = written.targets.iter().map(|target| Target::parse(target)).collect();
        assert!(!targets.is_empty(), "{} has no target", written.id);
        Self { category: category.to_owned(), written, targets }
    }

    /// Names it among all questions, and its golden files.
    pub(super) fn id(&self) -> String {
        format!("{}-{}", self.category, self.written.id)
    }

    pub(super) fn ask(&self) -> &str {
        self.written.ask.trim()
    }

    /// The rank of each target, 1-based; none where it is not on the page.
    pub(super) fn ranks(&self, page: &Page) -> Vec<Option<usize>> {
        let rank = |target: &Target| page.0.iter().position(|hit| target.is_in(hit)).map(|at| at + 1);
        self.targets.iter().map(rank).collect()
    }

    /// Its golden file: the question, where its targets stand, and the page.
    pub(super) fn report(&self, page: &Page) -> String {
        let first: String = self.ask().lines().next().unwrap_or_default().chars().take(SHOWN_CHARS).collect();
        let mut text = format!("question: {first}\ntargets:\n");
        for (target, rank) in self.written.targets.iter().zip(self.ranks(page)) {
            let rank = rank.map_or("-".to_owned(), |rank| rank.to_string());
            writeln!(text, "{rank:>3} {target}").unwrap();
        }
        let lines = page.lines(|hit| self.targets.iter().any(|target| target.is_in(hit)));
        format!("{text}{RANKED}\n{lines}")
    }
}

impl Target {
    /// Reads `path` or `path @ text`; the first line that holds the text is meant. Both must exist.
    fn parse(written: &str) -> Self {
        let (file, at) = written.split_once(AT).map_or((written, None), |(file, at)| (file, Some(at)));
        let text = fs::read_to_string(folder("corpus").join(file));
        let text = text.unwrap_or_else(|error| panic!("target {file}: {error}"));
        let line_of = |at: &str| {
            let index = text.lines().position(|line| line.contains(at));
            index.unwrap_or_else(|| panic!("no line of {file} says {at}")) as u64 + 1
        };
        Self { file: file.to_owned(), line: at.map(line_of) }
    }

    fn is_in(&self, hit: &Hit) -> bool {
        let (first, last) = hit.lines;
        self.file == hit.file && self.line.is_none_or(|line| (first..=last).contains(&line))
    }
}
