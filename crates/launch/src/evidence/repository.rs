//! Evidence in memory, gathered in one pass over a repository's files, texts and definitions.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::left_out::{LeftOut, UnindexedPaths};
use super::questions::Questions;
use super::{Evidence, KnownDefinition, KnownRisk};
use crate::licence::{self, Licence};
use crate::manifest::{Commands, Manifests, Package};

/// Maximum number of paths that are kept; beyond, a missing path is not known to be missing.
const PATHS_MAX: usize = 500_000;
/// Maximum number of definitions of one name, and of public definitions, that are kept.
const SAME_NAME_MAX: usize = 64;
const PUBLIC_MAX: usize = 200_000;
/// Longest text that is kept of a file, and of all files, in bytes.
const TEXT_BYTES_MAX: usize = 4 << 20;
const TEXTS_BYTES_MAX: usize = 128 << 20;

/// Gathers the answers to [`Questions`] from rows in any order.
#[derive(Debug, Default)]
pub struct RepositoryBuilder {
    questions: Questions,
    facts: RepositoryFacts,
    text_bytes: usize,
    folded: String,
}

/// Facts about a repository.
#[derive(Debug, Default)]
pub struct RepositoryFacts {
    name: Option<String>,
    /// Paths of files and folders, and whether all are there.
    paths: HashSet<String>,
    has_all_paths: bool,
    left_out: LeftOut,
    /// Paths by their last part.
    by_name: HashMap<String, Vec<String>>,
    indexed: HashSet<String>,
    texts: BTreeMap<String, String>,
    asked: HashSet<String>,
    mentioned: HashSet<String>,
    definitions: HashMap<String, Vec<KnownDefinition>>,
    public: BTreeSet<KnownDefinition>,
    risks: BTreeMap<(String, u32), KnownRisk>,
    licence: Option<Licence>,
    manifests: Manifests,
    code_languages: BTreeMap<String, u32>,
}

impl RepositoryBuilder {
    /// A builder that keeps what these questions ask for.
    #[must_use]
    pub fn new(questions: Questions) -> Self {
        let facts = RepositoryFacts { has_all_paths: true, ..RepositoryFacts::default() };
        Self { questions, facts, ..Self::default() }
    }

    /// The questions.
    #[must_use]
    pub fn questions(&self) -> &Questions {
        &self.questions
    }

    /// Sets the name of the repository.
    pub fn set_name(&mut self, name: String) {
        self.facts.name = Some(name);
    }

    /// Adds a file, whether or not it is indexed.
    pub fn add_path(&mut self, path: &str) {
        let mut rest = path;
        loop {
            if self.facts.paths.len() >= PATHS_MAX {
                self.facts.has_all_paths = false;
                return;
            }
            if !self.facts.paths.insert(rest.to_owned()) {
                break;
            }
            match rest.rsplit_once('/') {
                Some((folder, _)) => rest = folder,
                None => break,
            }
        }
        if self.questions.counts_mentions(path, false) {
            self.note_mentions(path);
        }
    }

    /// Adds an indexed file of a programming language.
    pub fn add_code_language(&mut self, language: &str) {
        *self.facts.code_languages.entry(language.to_owned()).or_default() += 1;
    }

    /// Returns `true` if [`Self::add_text`] needs the text of an indexed file; for other files it is enough to know that they are indexed.
    #[must_use]
    pub fn reads_text(&self, path: &str, is_prose: bool) -> bool {
        let questions = &self.questions;
        let may_answer = (!questions.names.is_empty() && questions.counts_mentions(path, is_prose))
            || self.keeps_text(path);
        may_answer && !questions.unread.contains(path)
    }

    /// Returns `true` if the whole text of a file is kept.
    fn keeps_text(&self, path: &str) -> bool {
        self.questions.needs_text(path) || LeftOut::needs_text(path)
    }

    /// Adds the text of an indexed file in pieces, each with its first line, in the order of the file. Blank lines between pieces
    /// may be missing.
    pub fn add_text<'t>(&mut self, path: &str, is_prose: bool, pieces: impl Iterator<Item = (u32, &'t str)>) {
        if self.questions.unread.contains(path) {
            return;
        }
        self.facts.indexed.insert(path.to_owned());
        let counts = self.questions.counts_mentions(path, is_prose);
        let mut text = self.keeps_text(path).then(String::new);
        let mut lines = 0;
        for (first_line, piece) in pieces {
            if counts {
                self.note_mentions(piece);
            }
            let blank = first_line.saturating_sub(1).saturating_sub(lines);
            let blank = usize::try_from(blank).unwrap_or(usize::MAX);
            if let Some(text) = &mut text
                && blank.saturating_add(piece.len()).saturating_add(text.len()) <= TEXT_BYTES_MAX
            {
                text.extend(std::iter::repeat_n('\n', blank));
                text.push_str(piece);
                if !piece.ends_with('\n') {
                    text.push('\n');
                }
                lines = first_line.saturating_sub(1).max(lines);
                lines = lines.saturating_add(u32::try_from(piece.lines().count()).unwrap_or(u32::MAX));
            }
        }
        if let Some(text) = text.filter(|text| self.text_bytes + text.len() <= TEXTS_BYTES_MAX) {
            self.text_bytes += text.len();
            self.facts.texts.insert(path.to_owned(), text);
        }
    }

    /// Adds a definition. One in the site itself does not count.
    pub fn add_definition(&mut self, definition: KnownDefinition) {
        if !self.questions.counts_mentions(&definition.path, false) {
            return;
        }
        let is_public = definition.is_exported == Some(true) && self.questions.public_definitions;
        if is_public && self.facts.public.len() < PUBLIC_MAX {
            self.facts.public.insert(definition.clone());
        }
        self.fold(&definition.name);
        if self.questions.names.contains(&self.folded) {
            self.facts.mentioned.insert(self.folded.clone());
            let same = self.facts.definitions.entry(definition.name.clone()).or_default();
            if same.len() < SAME_NAME_MAX {
                same.push(definition);
            }
        }
    }

    /// Adds the risk at a definition.
    pub fn add_risk(&mut self, path: &str, line: u32, risk: KnownRisk) {
        self.facts.risks.insert((path.to_owned(), line), risk);
    }

    /// The evidence.
    #[must_use]
    pub fn finish(mut self) -> RepositoryFacts {
        let facts = &mut self.facts;
        for path in &facts.paths {
            let name = path.rsplit('/').next().unwrap_or(path);
            facts.by_name.entry(name.to_owned()).or_default().push(path.clone());
        }
        for (path, text) in &facts.texts {
            facts.manifests.read(path, text);
            facts.left_out.read(path, text);
        }
        facts.manifests.finish();
        let licences = facts.texts.iter().filter(|(path, _)| licence::is_licence_file(path));
        let licences: Vec<(String, String)> =
            licences.filter_map(|(path, text)| Some((path.clone(), licence::of_text(text)?))).collect();
        let at_root = facts.manifests.licences.iter().filter(|(path, _)| !path.contains('/'));
        facts.licence = licence::detect(&licences, &at_root.cloned().collect::<Vec<_>>());
        for definitions in facts.definitions.values_mut() {
            definitions.sort();
        }
        facts.asked = self.questions.names;
        self.facts
    }

    /// Notes the names that were asked for among the words of a text: words joined by `-` or `_` both whole and in parts.
    fn note_mentions(&mut self, text: &str) {
        if self.questions.names.is_empty() {
            return;
        }
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
        for run in text.split(|c| !is_word(c)).filter(|run| !run.is_empty()) {
            self.note_mention(run);
            if run.contains('-') {
                for part in run.split('-') {
                    self.note_mention(part);
                }
            }
        }
    }

    fn note_mention(&mut self, word: &str) {
        self.fold(word);
        if self.questions.names.contains(&self.folded) && !self.facts.mentioned.contains(&self.folded) {
            self.facts.mentioned.insert(self.folded.clone());
        }
    }

    /// Folds a name as [`languages::terms::squash`] does, into a buffer, because every word of a repository is folded.
    fn fold(&mut self, name: &str) {
        self.folded.clear();
        if name.is_ascii() {
            let letters = name.bytes().filter(u8::is_ascii_alphanumeric);
            self.folded.extend(letters.map(|letter| char::from(letter.to_ascii_lowercase())));
        } else {
            self.folded.push_str(&languages::terms::squash(name));
        }
    }
}

impl RepositoryFacts {
    /// Also looks for files that the index omits.
    #[must_use]
    pub fn with_unindexed(mut self, files: Box<dyn UnindexedPaths>) -> Self {
        self.left_out.files = Some(files);
        self
    }
}

impl Evidence for RepositoryFacts {
    fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    fn exists(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        path.is_empty() || !self.has_all_paths || self.paths.contains(path)
    }

    fn is_left_out(&self, path: &str) -> bool {
        self.left_out.contains(path.trim_matches('/'), &self.paths)
    }

    fn has_all_paths(&self) -> bool {
        self.has_all_paths
    }

    fn has_path_ending(&self, path: &str) -> bool {
        let path = path.trim_matches('/');
        let name = path.rsplit('/').next().unwrap_or(path);
        let is_end = |whole: &String| {
            whole.strip_suffix(path).is_some_and(|before| before.is_empty() || before.ends_with('/'))
        };
        !self.has_all_paths || self.by_name.get(name).is_some_and(|paths| paths.iter().any(is_end))
    }

    fn text(&self, path: &str) -> Option<&str> {
        self.texts.get(path).map(String::as_str)
    }

    fn is_indexed(&self, path: &str) -> bool {
        self.indexed.contains(path)
    }

    fn indexed_files(&self) -> Vec<&str> {
        let mut files: Vec<&str> = self.indexed.iter().map(String::as_str).collect();
        files.sort_unstable();
        files
    }

    fn definitions(&self, name: &str) -> &[KnownDefinition] {
        self.definitions.get(name).map_or(&[], Vec::as_slice)
    }

    fn mentions(&self, name: &str) -> bool {
        let folded = languages::terms::squash(name);
        !self.asked.contains(&folded) || self.mentioned.contains(&folded)
    }

    fn risk_at(&self, path: &str, line: u32) -> Option<&KnownRisk> {
        self.risks.get(&(path.to_owned(), line))
    }

    fn licence(&self) -> Option<&Licence> {
        self.licence.as_ref()
    }

    fn packages(&self) -> &[Package] {
        &self.manifests.packages
    }

    fn commands(&self) -> &Commands {
        &self.manifests.commands
    }

    fn code_languages(&self) -> &BTreeMap<String, u32> {
        &self.code_languages
    }

    fn public_definitions(&self) -> &BTreeSet<KnownDefinition> {
        &self.public
    }
}
