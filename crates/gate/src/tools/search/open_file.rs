//! Opens indexed files: finds a file in the index and reads its current text.

use std::path::{Path, PathBuf};

use super::missing_file;
use super::named_revision::{NamedRevision, RepositoryAtRevision, not_in_revision_fault, repositories_at};
use crate::app::blocking;
use crate::tools::Call;
use crate::tools::repository::is_hidden;
use contract::config::Indexing;
use contract::{ErrorCode, Fault, RepositoryAddress, unescaped};
use engine::indexing::{self, ContentKind, FileTree, OpenRoot, ReadLimits, RecordSource};
use history::Head;
use mirrors::{Archives, Mirrors};
use store::{Access, ChunkSpan, Project, ProjectTx, RepositoryRow, chunks, files, repositories, revisions};
use tenancy::AllowedRoots;

/// Maximum number of lines of a file that is assembled from its chunks; further ones are omitted.
const STORED_LINES_MAX: usize = 1_000_000;

/// An indexed file with its current text.
pub(in crate::tools) struct OpenedFile {
    /// Its repository.
    pub(in crate::tools) repository: RepositoryRow,
    /// The revision that it was read from, if the call named one.
    pub(in crate::tools) revision: Option<NamedRevision>,
    /// Path relative to the repository.
    pub(in crate::tools) path: String,
    /// Language, if the file has one.
    pub(in crate::tools) language: Option<&'static str>,
    /// The current text, secrets redacted.
    pub(in crate::tools) text: String,
    /// blake3 hash of the current bytes.
    pub(in crate::tools) content_hash: String,
    /// `true` if it differs from the indexed file.
    pub(in crate::tools) changed: bool,
    pub(super) file_id: i64,
    pub(super) spans: Vec<ChunkSpan>,
}

/// The repositories in which a path is looked up.
pub(in crate::tools) enum RepositoryChoice {
    /// All repositories of the project.
    Any,
    /// The repository at this root.
    Only(String),
    /// All; if several contain the path, those at these roots take precedence.
    First(Vec<String>),
}

/// Opens an indexed file, of the default branch or of another indexed revision; others are refused, even if they exist.
pub(in crate::tools) async fn open_file(
    call: &Call,
    project: &Project,
    within: &RepositoryChoice,
    path: &str,
    revision: Option<&str>,
) -> Result<OpenedFile, Fault> {
    let indexed = find_indexed_file(call, project, within, path, revision).await?;
    let IndexedFile { repository, revision, file, spans } = indexed;
    let is_archive = is_archive_on_disk(&repository).await?;
    let current = if repository.has_path() && !is_archive {
        let (root, name) = (repository.root.clone(), repository.name.clone());
        let (settings, wanted) = (call.app.config.indexing.clone(), file.path.clone());
        let allowed = AllowedRoots::for_project(&settings, project.id());
        let read = blocking(move || {
            require_allowed(&root, &name, &allowed)?;
            read_from_disk(Path::new(&root), &wanted, &settings)
        })
        .await?;
        match read {
            ReadFile::Text(current) => current,
            ReadFile::Document { content_hash } => {
                CurrentFile { content_hash, ..read_from_chunks(call, project, &file).await? }
            }
        }
    } else if is_archive || repository.is_remote() {
        read_from_mirror(call, project, (&repository, revision.as_ref()), &file).await?
    } else if let Some(source) = call.app.record_source(&repository.root) {
        read_record(call, project, source, &file.path).await?
    } else {
        read_from_chunks(call, project, &file).await?
    };
    Ok(OpenedFile {
        repository,
        revision,
        path: file.path,
        language: current.language,
        text: current.text,
        content_hash: current
            .content_hash
            .map(|hash| blake3::Hash::from(hash).to_hex().to_string())
            .unwrap_or_default(),
        changed: current.content_hash.is_none_or(|hash| file.content_hash != hash),
        file_id: file.id,
        spans,
    })
}

/// Checks that a path is relative and has no `..`.
pub fn require_relative(path: &str) -> Result<String, Fault> {
    let inside =
        !path.starts_with('/') && path.split('/').all(|part| !part.is_empty() && part != "." && part != "..");
    if inside && !path.contains('\0') {
        return Ok(path.to_owned());
    }
    Err(Fault::new(ErrorCode::InvalidRequest, "The path must be relative to the repository, without `..`.")
        .with_hint("Use the `file` of a search hit as it is."))
}

/// The content that was read of a file.
enum ReadFile {
    /// Its current state.
    Text(CurrentFile),
    /// A document. Its text is in the index alone, because extracting it takes a process and time.
    Document { content_hash: Option<[u8; 32]> },
}

/// The current state of a file.
struct CurrentFile {
    text: String,
    language: Option<&'static str>,
    content_hash: Option<[u8; 32]>,
}

/// A repository that is no longer in an allowed directory can still be searched, but its files cannot be read.
fn require_allowed(root: &str, name: &str, allowed: &AllowedRoots) -> Result<(), Fault> {
    match allowed.check(Path::new(root)) {
        // The message omits the path, which callers on other machines must not learn.
        Err(fault) if fault.code == ErrorCode::Forbidden => Err(Fault::new(
            ErrorCode::Forbidden,
            format!("The repository `{name}` is outside the directories that may be read."),
        )
        .with_hint("Ask the operator to add it to indexing.project_roots or indexing.roots, or to remove the repository.")),
        // Reading the file reports other problems with the directory.
        _ => Ok(()),
    }
}

/// Returns `true` if a repository is an archive. A directory may have the name of one; where nothing is there any more, the name counts.
async fn is_archive_on_disk(repository: &RepositoryRow) -> Result<bool, Fault> {
    if !repository.is_archive() {
        return Ok(false);
    }
    let root = repository.root.clone();
    blocking(move || Ok(!Path::new(&root).is_dir())).await
}

/// The mirror in which the files of a repository may be.
pub(super) struct CommitPlace {
    /// Its bare repository.
    pub(super) git_dir: PathBuf,
    /// The commit, in hex.
    pub(super) commit: String,
    /// The folder of the commit that is the repository.
    pub(super) folder: String,
}

impl CommitPlace {
    /// Lists the places where a repository may have the commits, the likeliest first: that of a revision, else the one that was indexed,
    /// and the one of a run that goes on.
    pub(super) fn list(
        row: &RepositoryRow,
        revision_commit: Option<String>,
        (mirrors, archives): (&Mirrors, &Archives),
    ) -> Vec<Self> {
        let address = RepositoryAddress::parse(&row.root).and_then(Result::ok);
        let path = Path::new(&row.root);
        let last_commit = || match &address {
            Some(address) => mirrors.last_commit(address),
            None => archives.last_commit(path),
        };
        let commits = match revision_commit {
            Some(commit) => [Some(commit), None],
            None => [row.commit.clone(), last_commit()],
        };
        let place = |commit: String| match &address {
            Some(address) => {
                let folder = address.folder().to_owned();
                Some(Self { git_dir: mirrors.git_dir(address), commit, folder })
            }
            None => {
                let git_dir = archives.git_dir(path, &commit)?;
                Some(Self { git_dir, commit, folder: String::new() })
            }
        };
        commits.into_iter().flatten().filter_map(place).collect()
    }
}

/// Reads a file of a repository that is an archive or given by its address, in the commit that was indexed. Without a mirror on
/// this machine its text is assembled from the index.
async fn read_from_mirror(
    call: &Call,
    project: &Project,
    (repository, revision): (&RepositoryRow, Option<&NamedRevision>),
    file: &files::FileRow,
) -> Result<CurrentFile, Fault> {
    let settings = call.app.config.indexing.clone();
    let allowed = AllowedRoots::for_project(&settings, project.id());
    let (row, mirrors, archives) = (repository.clone(), call.app.mirrors(), call.app.archives());
    let of_revision = revision.filter(|revision| revision.view.is_some());
    let revision_commit = of_revision.and_then(|revision| revision.commit.clone());
    let (path, expected) = (file.path.clone(), file.content_hash.clone());
    let read = blocking(move || {
        require_allowed(&row.root, &row.name, &allowed)?;
        for place in CommitPlace::list(&row, revision_commit, (&mirrors, &archives)) {
            let CommitPlace { git_dir, commit, folder } = place;
            let tree = FileTree::Commit { git_dir, head: Head { branch: None, commit }, folder };
            let Ok(root) = OpenRoot::open_in(Path::new(&row.root), &tree) else { continue };
            if let Ok(ReadFile::Text(found)) = read_from_root(&root, &path, &settings)
                && found.content_hash.is_some_and(|hash| expected == hash)
            {
                return Ok(Some(found));
            }
        }
        Ok(None)
    })
    .await?;
    match read {
        Some(current) => Ok(current),
        None => read_from_chunks(call, project, file).await,
    }
}

/// Reads a file below the root, with the size limits of indexing, and redacts secrets.
fn read_from_disk(root: &Path, path: &str, settings: &Indexing) -> Result<ReadFile, Fault> {
    read_from_root(&OpenRoot::open(root)?, path, settings)
}

fn read_from_root(root: &OpenRoot, path: &str, settings: &Indexing) -> Result<ReadFile, Fault> {
    let limits =
        ReadLimits { bytes_max: settings.file_bytes_max, line_bytes_mean_max: settings.line_bytes_mean_max };
    let contents = root.read_indexed(path, &limits, settings.document_bytes_max);
    let content_hash = contents.content_hash;
    match contents.kind {
        ContentKind::Text { text, language, extracted, .. } => {
            let text = match (settings.redact_secrets, extracted) {
                (false, _) => text,
                (true, true) => indexing::redact_extracted(language, &text).text.into_owned(),
                (true, false) => indexing::redact_file(path, &text).text.into_owned(),
            };
            let language = language.map(|language| language.id);
            Ok(ReadFile::Text(CurrentFile { text, language, content_hash }))
        }
        ContentKind::Document { .. } => Ok(ReadFile::Document { content_hash }),
        ContentKind::Skipped(reason) => {
            Err(Fault::new(ErrorCode::NotFound, format!("`{path}` cannot be shown: {}", reason.sentence()))
                .with_hint("The file changed since it was indexed: refresh the index with `build_index`."))
        }
    }
}

/// Assembles a file from its indexed chunks, for documents, and for repositories that have no directory on this machine.
async fn read_from_chunks(
    call: &Call,
    project: &Project,
    file: &files::FileRow,
) -> Result<CurrentFile, Fault> {
    let mut tx = ProjectTx::begin(call.app.store().await?, project, Access::Search).await?;
    let parts = chunks::contents_of_file(&mut tx, file.id).await?;
    tx.commit().await?;
    let mut lines: Vec<String> = Vec::new();
    for (start_line, content) in parts {
        // A chunk that begins in the middle of a line continues that line.
        for (line, text) in (start_line.unsigned_abs() as usize..).zip(content.lines()) {
            if line > STORED_LINES_MAX {
                break;
            }
            lines.resize(lines.len().max(line), String::new());
            lines[line - 1].push_str(text);
        }
    }
    let text = lines.join("\n");
    let language = languages::detect(&file.path, text.as_bytes()).map(|language| language.id);
    Ok(CurrentFile { text, language, content_hash: file.content_hash.as_slice().try_into().ok() })
}

/// The current text of a record; records have no file.
async fn read_record(
    call: &Call,
    project: &Project,
    source: &RecordSource,
    path: &str,
) -> Result<CurrentFile, Fault> {
    let now_ms = call.app.clock.now().as_millisecond();
    match (source.document)(call.app.store().await?, project, path, now_ms).await? {
        Some(document) => {
            let content_hash = Some(document.content_hash());
            Ok(CurrentFile { text: document.text, language: Some("markdown"), content_hash })
        }
        None => Err(Fault::new(ErrorCode::NotFound, format!("The record of `{path}` no longer exists."))
            .with_hint("Search again; the next index run removes it from the results.")),
    }
}

/// An indexed file.
pub(super) struct IndexedFile {
    pub(super) repository: RepositoryRow,
    /// The revision that the call named.
    pub(super) revision: Option<NamedRevision>,
    pub(super) file: files::FileRow,
    pub(super) spans: Vec<ChunkSpan>,
}

/// Looks up an indexed file and its chunks, of the default branch or of another indexed revision.
///
/// # Errors
/// `NOT_FOUND` for an unknown path, with similar ones, and for an unknown revision; `INVALID_REQUEST` if several repositories contain it,
/// or none of them has revisions.
pub(super) async fn find_indexed_file(
    call: &Call,
    project: &Project,
    within: &RepositoryChoice,
    path: &str,
    revision: Option<&str>,
) -> Result<IndexedFile, Fault> {
    let mut tx = ProjectTx::begin(call.app.store().await?, project, Access::Search).await?;
    let mut known = repositories::list(&mut tx).await?;
    known.retain(|row| {
        !is_hidden(call, &row.root) && !matches!(within, RepositoryChoice::Only(root) if *root != row.root)
    });
    let known: Vec<RepositoryAtRevision> = match revision {
        None => known.into_iter().map(|row| (row, None)).collect(),
        Some(named) => repositories_at(known, &revisions::list(&mut tx).await?, named)?,
    };
    let (mut found, mut skip_reason) = (Vec::new(), None);
    // The path as given; else with the invisible characters that answers show in escaped form.
    let ids: Vec<i64> = known.iter().map(|(row, _)| row.id).collect();
    let forms = files::other_forms(&mut tx, &ids, path).await?;
    // The same letters may be written in another form.
    for path in [Some(path.to_owned()), unescaped(path)].into_iter().flatten().chain(forms) {
        for (repository, file) in files_at(&mut tx, &known, &path).await? {
            match &file.skipped {
                None => found.push((repository, file)),
                Some(reason) => skip_reason = skip_reason.or_else(|| Some(reason.clone())),
            }
        }
        if !found.is_empty() {
            break;
        }
    }
    if let RepositoryChoice::First(roots) = within
        && found.iter().any(|((row, _), _)| roots.contains(&row.root))
    {
        found.retain(|((row, _), _)| roots.contains(&row.root));
    }
    if found.len() > 1 {
        let names: Vec<&str> = found.iter().map(|((row, _), _)| row.name.as_str()).collect();
        return Err(Fault::new(ErrorCode::InvalidRequest, "Several repositories contain this path.")
            .with_details(serde_json::json!({ "repositories": names }))
            .with_hint("Name one of them in repoPath."));
    }
    let Some(((repository, revision), file)) = found.pop() else {
        return Err(missing_fault(&mut tx, &known, path, skip_reason.as_deref()).await?);
    };
    let spans = chunks::by_file(&mut tx, file.id).await?;
    tx.commit().await?;
    Ok(IndexedFile { repository, revision, file, spans })
}

/// The files at a path, searchable or not, each with its repository.
async fn files_at(
    tx: &mut ProjectTx,
    known: &[RepositoryAtRevision],
    path: &str,
) -> Result<Vec<(RepositoryAtRevision, files::FileRow)>, Fault> {
    let mut found = Vec::new();
    for repository_at in known {
        let (repository, revision) = repository_at;
        let file = match revision.as_ref().and_then(|revision| revision.view) {
            Some(view) => revisions::file(tx, repository.id, view, path).await?,
            None => files::get(tx, repository.id, path).await?,
        };
        found.extend(file.map(|file| (repository_at.clone(), file)));
    }
    Ok(found)
}

/// Returns the reason why no file is found: it was skipped, the revision does not have it, or the path is unknown.
async fn missing_fault(
    tx: &mut ProjectTx,
    known: &[RepositoryAtRevision],
    path: &str,
    skip_reason: Option<&str>,
) -> Result<Fault, Fault> {
    if let Some(reason) = skip_reason {
        return Ok(missing_file::skipped_file_fault(path, reason));
    }
    let of_default: Vec<i64> = known
        .iter()
        .filter(|(_, revision)| revision.as_ref().is_none_or(|revision| revision.view.is_none()))
        .map(|(row, _)| row.id)
        .collect();
    if let Some((_, Some(revision))) = known.first().filter(|_| of_default.is_empty()) {
        return Ok(not_in_revision_fault(path, &revision.name));
    }
    let alike = files::similar_paths(tx, &of_default, path, missing_file::COMPARED_PATHS_MAX).await?;
    Ok(missing_file::unknown_path_fault(path, &missing_file::nearest_paths(path, &alike)))
}
