//! The questions of gates about a repository, collected so that it is read only once.

use std::collections::{BTreeSet, HashSet};

use languages::terms::squash;

use super::names::name_in;
use crate::claim::Claims;
use crate::licence;
use crate::manifest;
use crate::site::{Site, Target};
use crate::snippet::ParsedSnippet;

/// Maximum number of names, and of texts, that are asked for.
const NAMES_MAX: usize = 100_000;
const TEXTS_MAX: usize = 2_000;

/// The questions to answer about a repository.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Questions {
    /// Names of code, folded: whether the repository mentions them, and where it defines them.
    pub names: HashSet<String>,
    /// Paths of files whose whole text is needed.
    pub texts: BTreeSet<String>,
    /// The folder of the site; its files do not count as a mention of a name.
    pub site: Option<String>,
    /// `true` if all public definitions are needed.
    pub public_definitions: bool,
    /// Files whose content does not count: only their paths do.
    pub unread: BTreeSet<String>,
}

impl Questions {
    /// The questions of the gates over a site with these snippets and claims.
    #[must_use]
    pub fn new(site: &Site, snippets: &[ParsedSnippet], claims: Option<&Claims>) -> Self {
        let mut questions =
            Self { site: site.base().filter(|base| !base.is_empty()).map(str::to_owned), ..Self::default() };
        for page in site.pages() {
            for span in &page.code_spans {
                for part in name_in(&span.code).into_iter().flat_map(|name| name.parts) {
                    questions.ask_name(&part);
                }
            }
            for link in &page.links {
                if let Ok(
                    Target::InRepository { path, anchor: Some(_) }
                    | Target::FromRoot { path, anchor: Some(_) },
                ) = site.resolve(page, &link.target)
                {
                    questions.ask_text(&path);
                }
            }
        }
        for snippet in snippets {
            snippet.for_each_name(&mut |name| questions.ask_name(name));
        }
        for citation in
            claims.into_iter().flat_map(|claims| claims.by_id.values()).flat_map(|one| &one.citations)
        {
            questions.ask_text(&citation.path);
        }
        questions
    }

    /// Also asks for all definitions that others can use.
    #[must_use]
    pub fn with_public_definitions(mut self) -> Self {
        self.public_definitions = true;
        self
    }

    /// Leaves the content of these files out of all answers.
    #[must_use]
    pub fn without_content_of(mut self, paths: BTreeSet<String>) -> Self {
        self.unread = paths;
        self
    }

    /// Asks for a name.
    pub fn ask_name(&mut self, name: &str) {
        let folded = squash(name);
        if !folded.is_empty() && self.names.len() < NAMES_MAX {
            self.names.insert(folded);
        }
    }

    /// Asks for the text of a file.
    pub fn ask_text(&mut self, path: &str) {
        if self.texts.len() < TEXTS_MAX {
            self.texts.insert(path.to_owned());
        }
    }

    /// Returns `true` if definitions can answer any of the questions.
    #[must_use]
    pub fn asks_for_definitions(&self) -> bool {
        self.public_definitions || !self.names.is_empty()
    }

    /// Returns `true` if the text of a file is needed: it was asked for, or it is a licence, a manifest or the README of the repository.
    #[must_use]
    pub fn needs_text(&self, path: &str) -> bool {
        !self.unread.contains(path)
            && (self.texts.contains(path)
                || licence::is_licence_file(path)
                || manifest::is_manifest(path)
                || is_readme(path))
    }

    /// Returns `true` if a mention of a name in a file counts: not in the site itself, nor in documents, which may describe removed code.
    #[must_use]
    pub fn counts_mentions(&self, path: &str, is_prose: bool) -> bool {
        let in_site = self
            .site
            .as_deref()
            .is_some_and(|site| path.strip_prefix(site).is_some_and(|rest| rest.starts_with('/')));
        !is_prose && !in_site && !self.unread.contains(path)
    }
}

/// Returns `true` if a file is the README of the repository.
#[must_use]
pub(crate) fn is_readme(path: &str) -> bool {
    ["readme.md", "readme.markdown", "readme"].iter().any(|name| path.eq_ignore_ascii_case(name))
}
