//! Workers: the parts of a run that produce something. A worker is a pure function: equal inputs give equal bytes, so an item that
//! was interrupted is simply done again.

pub mod facts;
pub mod fix;
pub mod link;
pub mod plan;
pub mod scout;
pub mod snippets;
mod trial;
pub mod write;

#[cfg(test)]
pub(crate) mod scene;

use std::collections::BTreeMap;
use std::fmt;

use crate::config::RunConfig;
use crate::event::Failure;
use crate::evidence::{Evidence, Questions};
use crate::gate::SecretFinder;
use crate::observed::Observed;
use crate::report::ValidationReport;
use crate::site::{Site, SiteFiles};
use crate::snapshot;
use crate::snippet::ParsedSnippet;

/// Reads repository and site.
pub const SCOUT: &str = "scout";
/// Collects claims and their evidence.
pub const FACTS: &str = "facts";
/// Collects snippets.
pub const SNIPPETS: &str = "snippets";
/// Plans the pages.
pub const PLAN: &str = "plan";
/// Writes the drafts of one section.
pub const WRITE: &str = "write";
/// Turns drafts into patches of the site.
pub const LINK: &str = "link";
/// Runs the gates.
pub const VALIDATE: &str = "validate";
/// Fixes one issue.
pub const FIX: &str = snapshot::FIX;

/// The plan of the pages: JSON with `pages`, each with at least `section` and `output_path`.
pub const PAGE_PLAN: &str = "page_plan.json";

/// The files of the site that a worker reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SiteView {
    /// Those of the pinned commit.
    Base,
    /// Those of the patched site, if patches were applied, else those of the pinned commit.
    Patched,
}

/// The input of a worker, without its questions about the repository.
#[derive(Clone, Copy)]
pub struct WorkItem<'a> {
    /// The configuration of the run.
    pub config: &'a RunConfig,
    /// The scope of the item: a section for [`WRITE`], the id of an issue for [`FIX`], else empty.
    pub scope_key: &'a str,
    /// The commit of the repository.
    pub repo_sha: &'a str,
    /// The commit of the site.
    pub site_sha: &'a str,
    /// The existing artifacts among those that [`Worker::artifacts`] names.
    pub artifacts: &'a BTreeMap<String, Vec<u8>>,
    /// The site.
    pub site: &'a dyn SiteFiles,
    /// The site at the pinned commit.
    pub base: &'a dyn SiteFiles,
    /// Paths of the files in which the two differ, sorted.
    pub changed: &'a [String],
    /// The parsed code blocks of [`pages_to_parse`], if the worker wants them ([`Worker::parses`]).
    pub snippets: &'a [ParsedSnippet],
}

/// The complete input of a worker.
#[derive(Clone, Copy)]
pub struct WorkerInput<'a> {
    /// The item.
    pub item: WorkItem<'a>,
    /// The answers to its questions about the repository and its index ([`Worker::asks`]).
    pub evidence: &'a dyn Evidence,
    /// Finds secrets in texts.
    pub secrets: &'a dyn SecretFinder,
    /// For [`VALIDATE`]: the observations that the program made for the gates.
    pub observed: &'a Observed,
}

impl WorkItem<'_> {
    /// The text of an artifact.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.artifacts.get(name).and_then(|bytes| std::str::from_utf8(bytes).ok())
    }

    /// The text of a file of the site; `None` if the site does not have it, or if it is not UTF-8.
    #[must_use]
    pub fn site_text(&self, path: &str) -> Option<String> {
        self.site.read(path).and_then(|bytes| String::from_utf8(bytes).ok())
    }
}

/// An artifact to store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewArtifact {
    /// Its name: a relative path of letters, digits, `.`, `_`, `-` and `/`.
    pub name: String,
    /// Media type.
    pub content_type: &'static str,
    /// The schema that it has, if it is JSON.
    pub schema_id: Option<&'static str>,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl NewArtifact {
    /// A JSON artifact.
    #[must_use]
    pub fn json(name: impl Into<String>, schema_id: &'static str, text: String) -> Self {
        Self {
            name: name.into(),
            content_type: "application/json",
            schema_id: Some(schema_id),
            bytes: text.into_bytes(),
        }
    }

    /// A Markdown artifact.
    #[must_use]
    pub fn markdown(name: impl Into<String>, text: String) -> Self {
        Self { name: name.into(), content_type: "text/markdown", schema_id: None, bytes: text.into_bytes() }
    }
}

/// A file of the site with its new content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteChange {
    /// Its path, relative to the site.
    pub path: String,
    /// Its whole content.
    pub bytes: Vec<u8>,
}

/// The output of a worker.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkerOutput {
    /// The artifacts.
    pub artifacts: Vec<NewArtifact>,
    /// For [`LINK`] and [`FIX`]: the files of the site that change, relative to those that the worker read.
    pub changes: Vec<SiteChange>,
    /// The ids of the patches that the changes consist of, in order.
    pub patch_ids: Vec<String>,
    /// For [`VALIDATE`]: the report. It is stored as an artifact by its caller.
    pub report: Option<ValidationReport>,
}

/// The reason why a worker failed: the run fails, too.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkerError(pub Failure);

impl WorkerError {
    /// An error with a code in capitals, such as `URL_COLLISION`, and a message for people.
    #[must_use]
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self(Failure::new(code, message))
    }

    /// Returns the error of a worker that lacks an artifact of an earlier one.
    #[must_use]
    pub fn missing(worker: &str, name: &str) -> Self {
        let code = format!("{}_MISSING_INPUT", worker.to_uppercase());
        Self(Failure::new(code, format!("The worker `{worker}` needs `{name}`, which is not there.")))
    }
}

impl fmt::Display for WorkerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.code, self.0.message)
    }
}

impl std::error::Error for WorkerError {}

/// The function of a worker. Blocks.
pub type Run = fn(&WorkerInput<'_>) -> Result<WorkerOutput, WorkerError>;

/// A worker.
#[derive(Clone, Copy)]
pub struct Worker {
    /// Its name.
    pub name: &'static str,
    /// Changes whenever equal inputs would give other bytes than before.
    pub version: u32,
    /// The artifacts that it reads; a name that ends with `/` is a prefix.
    pub artifacts: &'static [&'static str],
    /// The files of the site that it reads.
    pub site: SiteView,
    /// `true` if it wants parsed code blocks ([`pages_to_parse`]).
    pub parses: bool,
    /// Returns its questions about the repository.
    pub asks: fn(&WorkItem<'_>) -> Questions,
    /// Its function.
    pub run: Run,
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker")
            .field("name", &self.name)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

impl Worker {
    /// Returns `true` if it reads the artifact with this name.
    #[must_use]
    pub fn reads(&self, name: &str) -> bool {
        self.artifacts.iter().any(|read| *read == name || read.ends_with('/') && name.starts_with(read))
    }
}

/// Returns the pages whose parsed code blocks a worker wants: for [`SNIPPETS`] the candidates, else the changed pages.
#[must_use]
pub fn pages_to_parse(worker: &Worker, item: &WorkItem<'_>) -> Site {
    match worker.name {
        SNIPPETS => snippets::candidate_pages(item),
        _ => crate::validate::changed_pages(item),
    }
}

/// Longest name of an artifact, in bytes.
const NAME_BYTES_MAX: usize = 255;

/// Returns `true` if a text can be the name of an artifact.
#[must_use]
pub fn is_artifact_name(name: &str) -> bool {
    let is_plain = |part: &str| {
        !matches!(part, "" | "." | "..")
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
    };
    name.len() <= NAME_BYTES_MAX && name.split('/').all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nothing(_: &WorkerInput<'_>) -> Result<WorkerOutput, WorkerError> {
        Ok(WorkerOutput::default())
    }

    #[test]
    fn a_worker_reads_the_artifacts_that_it_names() {
        let worker = Worker {
            name: LINK,
            version: 1,
            artifacts: &[PAGE_PLAN, "drafts/"],
            site: SiteView::Base,
            parses: false,
            asks: |_| Questions::default(),
            run: nothing,
        };
        assert!(worker.reads("page_plan.json") && worker.reads("drafts/docs/a.md"));
        assert!(!worker.reads("drafts") && !worker.reads("page_plan.json.old") && !worker.reads("pr.json"));
    }

    #[test]
    fn names_of_artifacts_lead_nowhere() {
        for good in ["page_plan.json", "drafts/docs/a.md", "reports/fix_0123456789ab.md", "a"] {
            assert!(is_artifact_name(good), "{good}");
        }
        for bad in ["", "../x", "a/../b", "/etc/passwd", "a//b", "a/", "a b", "a\0", "ä", &"x".repeat(256)] {
            assert!(!is_artifact_name(bad), "{bad:?}");
        }
    }

    #[test]
    fn a_missing_input_names_the_worker() {
        let error = WorkerError::missing(PLAN, "product_facts.json");
        assert_eq!(error.0.code, "PLAN_MISSING_INPUT");
    }
}
