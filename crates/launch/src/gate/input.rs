//! The inputs of gates.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::frontmatter::FrontMatterContract;
use crate::allowed_paths::AllowedPaths;
use crate::claim::Claims;
use crate::config::{Budgets, Section};
use crate::evidence::Evidence;
use crate::issue::Severity;
use crate::observed::Observed;
use crate::published::KeptPage;
use crate::report::Profile;
use crate::site::{Page, Site};
use crate::snippet::ParsedSnippet;

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundSecret {
    /// Line, 1-based.
    pub line: u32,
    /// Its kind, such as `github_token`; `password` for a value that is recognised only by its name.
    pub kind: String,
}

/// Finds secrets in the text of a file.
pub trait SecretFinder {
    /// Returns the secrets, in order.
    fn find(&self, path: &str, text: &str) -> Vec<FoundSecret>;
}

/// The subject of the checks, and everything that gates may know about it.
#[derive(Clone, Copy)]
pub struct GateInput<'a> {
    /// The site.
    pub site: &'a Site,
    /// Its code blocks as a parser reads them.
    pub snippets: &'a [ParsedSnippet],
    /// The repository, or the reason why it is missing.
    pub evidence: Result<&'a dyn Evidence, &'a str>,
    /// The claims that pages may make.
    pub claims: Option<&'a Claims>,
    /// The context of the run that changes the site; `None` for a site by itself.
    pub run: Option<&'a RunInput<'a>>,
    /// Finds secrets.
    pub secrets: &'a dyn SecretFinder,
    /// Strictness of the validation.
    pub profile: Profile,
}

/// The context of a run's change of a site.
pub struct RunInput<'a> {
    /// The product as pages name it.
    pub product_name: &'a str,
    /// Address of the repository.
    pub repository_url: &'a str,
    /// The changed files.
    pub changes: &'a [Change],
    /// The paths that may be changed.
    pub allowed_paths: &'a AllowedPaths,
    /// Limits of the change.
    pub budgets: Budgets,
    /// The sections that have to get pages.
    pub required_sections: &'a BTreeSet<Section>,
    /// The planned pages.
    pub pages: &'a [RequiredPage],
    /// Planned pages that are not written, because people own the existing ones.
    pub kept: &'a [KeptPage],
    /// The layout of the pages of sections; `None` if the site has no folders for sections.
    pub layout: Option<&'a Layout>,
    /// The front matter that sections must have.
    pub contracts: &'a BTreeMap<Section, FrontMatterContract>,
    /// [`span_sha256`](crate::claim::span_sha256) of the snippets that may be shown.
    pub snippet_hashes: &'a BTreeSet<String>,
    /// Commands that install the product.
    pub install_commands: &'a [String],
    /// Artifacts with their schemas.
    pub artifacts: &'a [Artifact<'a>],
    /// Observations that the program made for the gates.
    pub observed: &'a Observed,
}

/// A changed file of the site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Its path.
    pub path: String,
    /// Its text before; `None` for a new file.
    pub before: Option<String>,
    /// Its text now.
    pub after: String,
}

/// A page that the plan promises.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequiredPage {
    /// Its section.
    pub section: Section,
    /// Its path.
    pub path: String,
    /// Headings that it must have.
    pub required_headings: Vec<String>,
}

/// The layout of the pages of a product.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The folders of the sections.
    pub folders: Vec<SectionFolder>,
    /// Languages of the pages: a folder below that of the family, except in the blog.
    pub locales: Vec<String>,
}

/// The folders of the pages of a section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionFolder {
    /// The section.
    pub section: Section,
    /// The folder of the product's family.
    pub folder: String,
    /// The folder of the platform, below that of the language; `None` without such a folder.
    pub platform: Option<String>,
}

/// An artifact with the schema that it must fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Artifact<'a> {
    /// Its name.
    pub name: &'a str,
    /// The schema.
    pub schema: &'a Value,
    /// The artifact.
    pub content: &'a Value,
}

/// The paths that gates check.
pub(super) struct Scope<'a>(Option<BTreeSet<&'a str>>);

impl Scope<'_> {
    /// Returns `true` if a path is one of them.
    pub(super) fn contains(&self, path: &str) -> bool {
        self.0.as_ref().is_none_or(|changed| changed.contains(path))
    }

    /// Chooses the path, of two, at which a fault of both is reported; `None` if neither is checked.
    pub(super) fn one_of<'p>(&self, path: &'p str, other: &'p str) -> Option<(&'p str, &'p str)> {
        match (self.contains(path), self.contains(other)) {
            (true, _) => Some((path, other)),
            (false, true) => Some((other, path)),
            (false, false) => None,
        }
    }
}

impl<'a> GateInput<'a> {
    /// Returns the paths to check: those that the run changes, or all. Faults of other files must not fail a run, because it could neither
    /// repair nor avoid them.
    pub(super) fn scope(&self) -> Scope<'a> {
        let changes = self.run.map(|run| run.changes);
        Scope(changes.map(|changes| changes.iter().map(|change| change.path.as_str()).collect()))
    }

    /// Returns the pages to check: those that the run changes, or all.
    pub(super) fn pages(&self) -> impl Iterator<Item = &'a Page> {
        let scope = self.scope();
        self.site.pages().iter().filter(move |page| scope.contains(&page.path))
    }

    /// Returns the snippets of a page.
    pub(super) fn snippets_of(&self, page: &'a Page) -> impl Iterator<Item = &'a ParsedSnippet> {
        let first = self.snippets.partition_point(|snippet| snippet.page < page.path);
        self.snippets.iter().skip(first).take_while(move |snippet| snippet.page == page.path)
    }

    /// Chooses one severity for changes of a run, and another for a site by itself.
    pub(super) fn severity(&self, in_run: Severity, alone: Severity) -> Severity {
        if self.run.is_some() { in_run } else { alone }
    }
}
