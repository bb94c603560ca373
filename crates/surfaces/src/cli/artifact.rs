//! `index --write-artifact`: writes the index of the indexed commit as a portable file, which saves others from embedding it again.

use std::path::{Component, Path, PathBuf};

use indicatif::{HumanBytes, HumanCount};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::cancellable::cancellable;
use super::output::{NOTE, styled};
use super::session::{CommandResult, Session, ToolAnswer};
use crate::commit::short_commit;
use contract::{ErrorCode, Fault, ProjectId, escaped_line, has_archive_name};
use engine::indexing::{IndexedCommit, indexed_commit};
use store::portable::ArtifactCommit;
use store::{Access, Project, ProjectTx, RepositoryRow, repositories};
use upkeep::portable::{ArtifactRequest, require_within, write_artifact};

/// The number of differing files that an error names.
const EXAMPLES_MAX: usize = 3;

/// The target of the artifact that is written after a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ArtifactTarget {
    /// The absolute path of the folder.
    folder: PathBuf,
    /// The repository, if the folder is given relative to it and is inside it: no link may lead out of it.
    within: Option<PathBuf>,
    /// Write the file even if indexed files differ from the commit.
    allow_dirty: bool,
}

impl ArtifactTarget {
    /// Resolves the folder as `--use-artifacts` does: a relative path is inside the repository, unless `..` leads out of it.
    ///
    /// # Errors
    /// `INVALID_REQUEST` if the repository is an archive, which belongs to no commit; for a relative path also if the repository
    /// is given by its address, or if a link leads out of it.
    pub(super) fn resolve(folder: &str, repository: &str, allow_dirty: bool) -> Result<Self, Fault> {
        let is_archive = has_archive_name(repository) && Path::new(repository).is_file();
        let (folder, repository) = (Path::new(folder), Path::new(repository));
        if is_archive {
            let message = "--write-artifact needs a commit, and an archive is of none.";
            return Err(Fault::new(ErrorCode::InvalidRequest, message).with_hint(
                "Index the git repository by its directory or its address, or omit --write-artifact.",
            ));
        }
        if folder.is_absolute() {
            return Ok(Self { folder: folder.to_owned(), within: None, allow_dirty });
        }
        if repository.is_relative() {
            let message = "--write-artifact names a relative folder, but the repository has no directory.";
            return Err(Fault::new(ErrorCode::InvalidRequest, message)
                .with_hint("Give the absolute path of a folder."));
        }
        let folder = without_parent_parts(&repository.join(folder));
        let within = folder.starts_with(repository).then(|| repository.to_owned());
        if let Some(repository) = within.as_deref().filter(|repository| repository.is_dir()) {
            require_within(&folder, repository)?;
        }
        Ok(Self { folder, within, allow_dirty })
    }
}

/// Resolves each `..` of an absolute path lexically, so that no link before it is followed.
fn without_parent_parts(path: &Path) -> PathBuf {
    let mut resolved = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                resolved.pop();
            }
            part => resolved.push(part),
        }
    }
    resolved
}

/// The part of a `build_index` result that describes the indexed commit.
#[derive(Debug, Deserialize)]
struct FinishedRun {
    project_id: Option<String>,
    report: FinishedReport,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct FinishedReport {
    repository_id: i64,
}

/// A written artifact, as it is printed.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct WrittenArtifact {
    path: String,
    commit: String,
    dirty: bool,
    files: i64,
    chunks: i64,
    vectors: i64,
    bytes: u64,
    sha256: String,
}

/// Writes the artifact of a run that succeeded, and prints it with the answer of the run.
pub(super) async fn answer_with_artifact(
    session: &Session,
    mut answer: ToolAnswer,
    target: &ArtifactTarget,
    render: impl Fn(&Value) -> String,
) -> CommandResult {
    let mut result = answer.envelope.result.take().unwrap_or_default();
    match write(session, &result, target).await {
        Ok(artifact) => {
            if let Some(fields) = result.as_object_mut() {
                fields.insert("artifact".to_owned(), serde_json::to_value(artifact).unwrap_or_default());
            }
            answer.envelope.result = Some(result);
            Ok(session.output.answer(&answer, render))
        }
        Err(fault) => {
            // The run itself succeeded; with --json there is only one answer.
            if !session.output.json {
                session.output.print_text(&render(&result));
            }
            Err(fault.into())
        }
    }
}

async fn write(session: &Session, result: &Value, target: &ArtifactTarget) -> Result<WrittenArtifact, Fault> {
    let run = FinishedRun::deserialize(result)
        .map_err(|error| Fault::internal("The run's result could not be read.", error))?;
    let id = match &run.project_id {
        Some(id) => ProjectId::parse(id)?,
        None => ProjectId::default_workspace(),
    };
    let app = &session.app;
    let store = app.store().await?;
    let project = tenancy::require(store, &id).await?;
    let repository = find_repository(session, &project, run.report.repository_id).await?;
    let (commit, written) = cancellable(session, async |cancel, on_step| {
        on_step("comparing the index with the commit");
        let settings = &app.config.indexing;
        let indexed = indexed_commit(store, &project, &repository, settings, &app.parsing, cancel).await?;
        let commit = artifact_commit(indexed, target.allow_dirty)?;
        on_step("writing the artifact");
        let request = ArtifactRequest {
            store,
            project: &project,
            repository: &repository,
            commit: &commit,
            folder: &target.folder,
            within: target.within.as_deref(),
            settings: &app.config.portable,
            clock: &*app.clock,
            cancel,
        };
        let written = write_artifact(&request).await?;
        Ok::<_, Fault>((commit, written))
    })
    .await?;
    Ok(WrittenArtifact {
        path: written.path.to_string_lossy().into_owned(),
        commit: commit.id,
        dirty: commit.is_dirty,
        files: written.report.rows.files,
        chunks: written.report.rows.chunks,
        vectors: written.report.rows.vectors,
        bytes: written.report.bytes,
        sha256: written.report.sha256,
    })
}

async fn find_repository(session: &Session, project: &Project, id: i64) -> Result<RepositoryRow, Fault> {
    let mut tx = ProjectTx::begin(session.app.store().await?, project, Access::Search).await?;
    let rows = repositories::list(&mut tx).await?;
    tx.commit().await?;
    rows.into_iter().find(|row| row.id == id).ok_or_else(|| {
        Fault::new(ErrorCode::NoIndex, "The repository was removed from the index meanwhile.")
            .with_hint("Index it again.")
    })
}

/// Returns the commit that the artifact names; refuses an index that differs from it, unless that is allowed.
fn artifact_commit(indexed: IndexedCommit, allow_dirty: bool) -> Result<ArtifactCommit, Fault> {
    let IndexedCommit { id, differing } = indexed;
    let is_dirty = !differing.is_empty();
    if !is_dirty || allow_dirty {
        return Ok(ArtifactCommit { id, is_dirty });
    }
    let examples: Vec<String> =
        differing.iter().take(EXAMPLES_MAX).map(|path| format!("`{}`", escaped_line(path))).collect();
    let message = format!(
        "The index differs from the commit {} in {} files, such as {}; no artifact was written.",
        short_commit(&id),
        differing.len(),
        examples.join(", ")
    );
    let hint = "Commit or ignore these files, or restore them, and run again; --allow-dirty writes a file that says that it differs.";
    let details = serde_json::json!({ "commit": id, "files": differing.len() });
    Err(Fault::new(ErrorCode::IllegalState, message).with_details(details).with_hint(hint))
}

/// Formats the written artifact as a line; `None` if none was written.
pub(super) fn written_line(result: &Value) -> Option<String> {
    let written = WrittenArtifact::deserialize(result.get("artifact")?).ok()?;
    let line = format!(
        "  wrote {}: commit {}, {} vectors, {}",
        escaped_line(&written.path),
        short_commit(&written.commit),
        HumanCount(written.vectors.unsigned_abs()),
        HumanBytes(written.bytes)
    );
    let differs = || styled(NOTE, "; its files differ from the commit");
    Some(if written.dirty { line + &differs() } else { line })
}

/// The printed part of a report about artifacts.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RestoredCounts {
    vectors: u64,
    texts: u64,
    used: Vec<UsedFile>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct UsedFile {
    file: String,
    commit: Option<String>,
    relation: String,
}

/// Formats the vectors that a run took from artifacts as a line; `None` if no text needed a vector.
pub(super) fn restored_line(restored: &RestoredCounts) -> Option<String> {
    if restored.texts == 0 {
        return None;
    }
    let files: Vec<String> = restored.used.iter().map(used_file).collect();
    let from = if files.is_empty() { "artifacts".to_owned() } else { files.join(", ") };
    let (vectors, texts) = (HumanCount(restored.vectors), HumanCount(restored.texts));
    Some(format!("  {vectors} of {texts} missing vectors taken from {from}"))
}

fn used_file(used: &UsedFile) -> String {
    let relation = match used.relation.as_str() {
        "head" => ", which is HEAD",
        "ancestor" => ", an ancestor of HEAD",
        _ => "",
    };
    let commit = used.commit.as_deref().map(|commit| format!(" (commit {}{relation})", short_commit(commit)));
    escaped_line(&used.file) + &commit.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

    #[test]
    fn a_relative_folder_is_one_in_the_repository() {
        let folder = |folder: &str, repository: &str| {
            ArtifactTarget::resolve(folder, repository, false).map(|t| t.folder)
        };
        assert_eq!(folder("ci-artifacts", "/srv/shop").unwrap(), Path::new("/srv/shop/ci-artifacts"));
        assert_eq!(folder("/tmp/out", "/srv/shop").unwrap(), Path::new("/tmp/out"));
        assert_eq!(folder("/tmp/out", "https://host/acme/shop").unwrap(), Path::new("/tmp/out"));
        assert_eq!(folder("../new", "/srv/shop").unwrap(), Path::new("/srv/new"));
        assert_eq!(folder("a/../../new", "/srv/shop").unwrap(), Path::new("/srv/new"), "whatever `a` is");
        let refused = folder("ci-artifacts", "https://host/acme/shop").unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidRequest);
    }

    #[test]
    fn a_link_that_leads_out_of_the_repository_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let repository = home.path().join("shop");
        std::fs::create_dir_all(&repository).unwrap();
        std::os::unix::fs::symlink(home.path(), repository.join("ci-artifacts")).unwrap();
        let resolve = |folder: &str| ArtifactTarget::resolve(folder, repository.to_str().unwrap(), false);
        for folder in ["ci-artifacts", "ci-artifacts/new", "x/../ci-artifacts"] {
            assert_eq!(resolve(folder).unwrap_err().code, ErrorCode::InvalidRequest, "{folder}");
        }
        assert_eq!(resolve("built").unwrap().within.as_deref(), Some(repository.as_path()));
        // A path that is absolute or outside of the repository may be anywhere.
        for folder in ["..", "../new", repository.join("ci-artifacts").to_str().unwrap()] {
            assert_eq!(resolve(folder).unwrap().within, None, "{folder}");
        }
    }

    #[test]
    fn an_archive_is_refused_but_no_directory_with_such_a_name() {
        let home = tempfile::tempdir().unwrap();
        let (archive, directory) = (home.path().join("shop.tar.gz"), home.path().join("shop.tar"));
        std::fs::write(&archive, "").unwrap();
        std::fs::create_dir(&directory).unwrap();
        let resolve = |folder: &str, repository: &Path| {
            ArtifactTarget::resolve(folder, repository.to_str().unwrap(), false).map(|target| target.folder)
        };
        for folder in ["ci-artifacts", "/tmp/out"] {
            assert_eq!(resolve(folder, &archive).unwrap_err().code, ErrorCode::InvalidRequest, "{folder}");
        }
        assert_eq!(resolve("ci-artifacts", &directory).unwrap(), directory.join("ci-artifacts"));
        assert_eq!(resolve("/tmp/out", &directory).unwrap(), Path::new("/tmp/out"));
    }

    #[test]
    fn a_changed_index_needs_permission() {
        let indexed = |differing: &[&str]| IndexedCommit {
            id: COMMIT.to_owned(),
            differing: differing.iter().map(|path| (*path).to_owned()).collect(),
        };
        let commit = |is_dirty| ArtifactCommit { id: COMMIT.to_owned(), is_dirty };
        assert_eq!(artifact_commit(indexed(&[]), false).unwrap(), commit(false));
        assert_eq!(artifact_commit(indexed(&[]), true).unwrap(), commit(false));
        assert_eq!(artifact_commit(indexed(&["a.rs"]), true).unwrap(), commit(true));
        let refused = artifact_commit(indexed(&["a.rs", "b\u{1b}", "c.rs", "d.rs"]), false).unwrap_err();
        assert_eq!(refused.code, ErrorCode::IllegalState);
        assert_eq!(
            refused.message,
            "The index differs from the commit 0123456789ab in 4 files, such as `a.rs`, `b\\u{1b}`, `c.rs`; no artifact was written."
        );
    }

    #[test]
    fn restored_and_written_vectors_are_reported_in_a_line() {
        let restored = |value: Value| restored_line(&RestoredCounts::deserialize(&value).unwrap());
        assert_eq!(restored(json!({ "files": 1, "vectors": 0, "texts": 0 })), None);
        assert_eq!(
            restored(json!({ "files": 1, "vectors": 0, "texts": 1200 })).unwrap(),
            "  0 of 1,200 missing vectors taken from artifacts"
        );
        let used = json!([
            { "file": "shop\u{7}.sqlite", "commit": COMMIT, "dirty": false, "relation": "ancestor", "vectors": 7 },
            { "file": "index.sqlite", "dirty": false, "relation": "other", "vectors": 1 }
        ]);
        assert_eq!(
            restored(json!({ "files": 2, "vectors": 8, "texts": 9, "used": used })).unwrap(),
            "  8 of 9 missing vectors taken from shop\\u{7}.sqlite (commit 0123456789ab, an ancestor of HEAD), index.sqlite"
        );
        assert_eq!(written_line(&json!({ "jobId": "1" })), None);
        let artifact =
            json!({ "path": "/srv/a.sqlite", "commit": COMMIT, "dirty": false, "vectors": 9, "bytes": 2048 });
        assert_eq!(
            written_line(&json!({ "artifact": artifact })).unwrap(),
            "  wrote /srv/a.sqlite: commit 0123456789ab, 9 vectors, 2.00 KiB"
        );
    }
}
