//! The report of an index run, for people and for `index_status`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::scip::ScipReport;
use store::FactsMissing;

/// The result of one run; stored with the repository.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunReport {
    /// Identifies the repository inside the project.
    pub repository_id: i64,
    /// The repository's name in answers.
    pub repository: String,
    /// Files of the repository that are searchable now.
    pub files: u64,
    /// Chunks of the repository that are searchable now.
    pub chunks: u64,
    /// Files whose chunks this run wrote.
    pub files_changed: u64,
    /// Files that were left as they are.
    pub files_unchanged: u64,
    /// Files that are gone and were removed.
    pub files_removed: u64,
    /// Texts this run embedded.
    pub vectors_embedded: u64,
    /// Texts that still lack a vector; they are found by words only.
    pub vectors_pending: u64,
    /// Secrets replaced by `[REDACTED:kind]` in the files this run read.
    pub secrets_redacted: u64,
    /// Files and folders that are not searchable, by reason.
    pub skipped: Vec<SkippedFiles>,
    /// Searchable files whose facts, comments and imports could not be read, by reason. What ran out of time is tried
    /// again by the next run.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub facts_missing: Vec<SkippedFiles>,
    /// What is known of the uses of names; absent if no file has symbols.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub navigation: Option<NavigationReport>,
    /// What was taken from SCIP files; absent if there was none to read.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub scip: Option<ScipReport>,
    /// Branches and tags beside the default branch; absent if none is indexed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub revisions: Option<RevisionsReport>,
    /// What else the reader should know: rules that were left out, and why.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub notes: Vec<String>,
    /// What was taken from artifacts; absent unless `useArtifacts` was asked for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub restored_artifacts: Option<RestoredArtifacts>,
    /// The project's portable file; absent unless `sqlite` was asked for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sqlite: Option<SqliteFile>,
    /// Seconds until words were searchable.
    pub lexical_seconds: f64,
    /// Seconds in all.
    pub seconds: f64,
}

/// What is known of the uses of names in a repository. A use is counted once for each definition that uses and each that is used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NavigationReport {
    /// Files whose names are known.
    pub files: u64,
    /// Files of which nothing is known, because their names take more than `indexing.symbols_bytes_max` bytes.
    pub files_too_large: u64,
    /// Files of which only a part is known, because they have too many names.
    pub files_truncated: u64,
    /// Files whose uses this run resolved.
    pub files_resolved: u64,
    /// Uses that an uploaded SCIP index joined with their definitions.
    pub uses_scip: u64,
    /// Uses that scopes, imports and types joined with their definitions.
    pub uses_resolved: u64,
    /// Uses of which only the name is known.
    pub uses_by_name: u64,
}

/// The branches and tags of a repository beside the default branch, and what they have that it has not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RevisionsReport {
    /// The revisions that can be searched.
    pub indexed: Vec<IndexedRevision>,
    /// Files, by content, that only revisions have.
    pub files: u64,
    /// Chunks of these files.
    pub chunks: u64,
    /// Files that this run wrote for revisions.
    pub files_changed: u64,
}

/// An indexed branch or tag.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IndexedRevision {
    /// Its name, for `rev:NAME` in queries.
    pub name: String,
    /// `branch` or `tag`.
    pub kind: String,
    /// The commit, hex.
    pub commit: String,
}

/// What was taken from the portable files of another build.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RestoredArtifacts {
    /// Files with vectors of the project's model.
    pub files: u64,
    /// Vectors that this run need not make.
    pub vectors: u64,
    /// Texts that lacked a vector; the rest was embedded.
    #[serde(default)]
    pub texts: u64,
    /// The files that gave vectors, in the order in which they were read.
    #[serde(default)]
    pub used: Vec<UsedArtifact>,
}

/// A portable file that gave vectors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UsedArtifact {
    /// Its name.
    pub file: String,
    /// The commit that it says it was made for; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub commit: Option<String>,
    /// Whether it says that its files differed from those of the commit.
    pub dirty: bool,
    /// What the commit is to HEAD.
    pub relation: ArtifactRelation,
    /// Vectors taken.
    pub vectors: u64,
}

/// What a portable file is to the indexed state of a repository; the nearest relation first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ArtifactRelation {
    /// Of HEAD.
    Head,
    /// Of an ancestor of HEAD.
    Ancestor,
    /// Of another state of a repository with this name.
    Repository,
    /// Of something else.
    Other,
}

/// The portable file that a run refreshed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SqliteFile {
    /// Its name in the project's folder.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// SHA-256, hex.
    pub sha256: String,
    /// Whether it was brought up to date, not written anew.
    pub incremental: bool,
}

/// Files left out for one reason.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SkippedFiles {
    /// The reason, snake case.
    pub reason: String,
    /// How many.
    pub count: u64,
    /// The first few, in path order.
    pub examples: Vec<String>,
}

impl From<FactsMissing> for SkippedFiles {
    fn from(missing: FactsMissing) -> Self {
        Self { reason: missing.reason, count: missing.count.unsigned_abs(), examples: missing.paths }
    }
}

/// Maximum number of examples for a reason.
const EXAMPLES_MAX: usize = 5;

/// Counts skipped paths by reason.
#[derive(Debug, Default)]
pub(super) struct SkipCounter(BTreeMap<String, (u64, Vec<String>)>);

impl SkipCounter {
    /// Counts one path.
    pub(super) fn add(&mut self, reason: &str, path: &str) {
        let (count, examples) = self.0.entry(reason.to_owned()).or_default();
        *count += 1;
        if examples.len() < EXAMPLES_MAX {
            examples.push(path.to_owned());
        }
    }

    /// Returns the counts, most frequent reason first.
    #[must_use]
    pub(super) fn finish(self) -> Vec<SkippedFiles> {
        let mut skipped: Vec<SkippedFiles> = self
            .0
            .into_iter()
            .map(|(reason, (count, mut examples))| {
                examples.sort();
                SkippedFiles { reason, count, examples }
            })
            .collect();
        skipped.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.reason.cmp(&b.reason)));
        skipped
    }
}
