//! Writes the index of one repository at one commit as a portable file for others, with its checksum beside it.

use std::fs;
use std::path::{Path, PathBuf};

use tokio_util::sync::CancellationToken;

use super::build::{BuildReport, BuildRequest, ComparedState, IndexPart, build_file, plain_name};
use super::replacement::write_fault;
use contract::clock::Clock;
use contract::config;
use contract::{ErrorCode, Fault};
use platform::task::blocking;
use store::portable::ArtifactCommit;
use store::{Project, RepositoryRow, Store};

/// Maximum number of characters of a repository's name in the name of an artifact: of four bytes each, they leave space for the rest.
const NAME_CHARS_MAX: usize = 40;

/// The artifact to write.
pub struct ArtifactRequest<'a> {
    /// The database.
    pub store: &'a Store,
    /// The project.
    pub project: &'a Project,
    /// The repository, in the state that was compared with the commit.
    pub repository: &'a RepositoryRow,
    /// The commit.
    pub commit: &'a ArtifactCommit,
    /// The folder to write to; created if it does not exist.
    pub folder: &'a Path,
    /// The repository that must contain the folder, for one that is named relative to it; `None`: it may be anywhere.
    pub within: Option<&'a Path>,
    /// The settings `portable.*`.
    pub settings: &'a config::Portable,
    /// Source of the time that the file records.
    pub clock: &'a dyn Clock,
    /// Fires when the command is cancelled.
    pub cancel: &'a CancellationToken,
}

/// A written artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// Path of the portable file.
    pub path: PathBuf,
    /// The result of the build.
    pub report: BuildReport,
}

/// Returns the file name of an artifact: the repository, the commit, and a mark if the indexed files differ from it.
fn artifact_file_name(repository: &str, commit: &ArtifactCommit) -> String {
    let name = plain_name(repository, NAME_CHARS_MAX);
    // Many programs ignore hidden files, and take a leading `-` for an option.
    let name = if name.starts_with(['.', '-']) { format!("_{name}") } else { name };
    let dirty = if commit.is_dirty { "-dirty" } else { "" };
    format!("{name}-{}{dirty}.sqlite", commit.id)
}

/// Writes the portable file with its checksum in the form of `sha256sum`. Existing files of the same names are replaced once both are
/// complete.
///
/// # Errors
/// `INVALID_REQUEST` if a link leads from the folder out of the repository that must contain it; `ILLEGAL_STATE` if the repository is
/// being indexed again, or another run is writing the file; `CANCELLED`; storage faults.
pub async fn write_artifact(request: &ArtifactRequest<'_>) -> Result<Artifact, Fault> {
    let path = request.folder.join(artifact_file_name(&request.repository.name, request.commit));
    let (folder, within) = (request.folder.to_owned(), request.within.map(Path::to_owned));
    blocking(move || {
        within.map_or(Ok(()), |repository| require_within(&folder, &repository))?;
        create_ignored_folder(&folder)
    })
    .await?;
    let build = BuildRequest {
        store: request.store,
        project: request.project,
        root: Some(request.repository.root.as_str()),
        part: IndexPart::All,
        out: &path,
        incremental: false,
        compact: false,
        settings: request.settings,
        clock: request.clock,
        cancel: request.cancel,
        progress: &|_, _| {},
    };
    let compared = ComparedState { commit: request.commit, generation: request.repository.generation };
    let report = build_file(&build, Some(&compared)).await?;
    Ok(Artifact { path, report })
}

/// Refuses a folder if a link leads from it out of the repository: anyone may have committed that link. For a folder that does not exist,
/// its nearest ancestor is checked.
///
/// # Errors
/// `INVALID_REQUEST`.
pub fn require_within(folder: &Path, repository: &Path) -> Result<(), Fault> {
    let nearest = folder.ancestors().find(|path| path.symlink_metadata().is_ok());
    let real = nearest.and_then(|path| path.canonicalize().ok());
    if real.zip(repository.canonicalize().ok()).is_some_and(|(real, repository)| real.starts_with(repository))
    {
        return Ok(());
    }
    let message = "A link leads from the folder for the artifact out of the repository.";
    Err(Fault::new(ErrorCode::InvalidRequest, message)
        .with_hint("Replace the link by a folder, or give the absolute path of a folder."))
}

/// Creates the folder unless it exists. A folder created here is ignored by git and index runs, because it contains no source code.
fn create_ignored_folder(folder: &Path) -> Result<(), Fault> {
    if folder.exists() {
        return Ok(());
    }
    fs::create_dir_all(folder).map_err(write_fault)?;
    fs::write(folder.join(".gitignore"), "*\n").map_err(write_fault)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_repository_and_commit() {
        let commit = |is_dirty| ArtifactCommit { id: "0123456789".repeat(4), is_dirty };
        let id = "0123456789012345678901234567890123456789";
        assert_eq!(artifact_file_name("shop", &commit(false)), format!("shop-{id}.sqlite"));
        assert_eq!(
            artifact_file_name("shop of/ours", &commit(true)),
            format!("shop_of_ours-{id}-dirty.sqlite")
        );
        assert_eq!(artifact_file_name(".config", &commit(false)), format!("_.config-{id}.sqlite"));
        assert_eq!(artifact_file_name("-rf", &commit(false)), format!("_-rf-{id}.sqlite"));
        // With the longest temporary name, `.NAME.smaller`, it stays below the limit of file systems.
        let longest = artifact_file_name(&"𠀀".repeat(100), &commit(true));
        assert!(longest.len() + ".".len() + ".smaller".len() <= 255, "{}", longest.len());
    }

    #[test]
    fn only_a_new_folder_is_ignored() {
        let home = tempfile::tempdir().unwrap();
        let (new, existing) = (home.path().join("a/b"), home.path());
        create_ignored_folder(&new).unwrap();
        assert_eq!(fs::read_to_string(new.join(".gitignore")).unwrap(), "*\n");
        create_ignored_folder(existing).unwrap();
        assert!(!existing.join(".gitignore").exists());
    }

    #[test]
    fn no_link_leads_out_of_the_repository() {
        let home = tempfile::tempdir().unwrap();
        let (repository, outside) = (home.path().join("shop"), home.path().join("elsewhere"));
        fs::create_dir_all(repository.join("built")).unwrap();
        fs::create_dir(&outside).unwrap();
        for (link, to) in [("out", "../elsewhere"), ("broken", "../nothing"), ("inside", "built")] {
            std::os::unix::fs::symlink(to, repository.join(link)).unwrap();
        }
        for allowed in ["", "built", "built/a/b", "new", "inside", "inside/new"] {
            assert!(require_within(&repository.join(allowed), &repository).is_ok(), "{allowed}");
        }
        for refused in ["out", "out/a", "broken", "broken/a"] {
            let fault = require_within(&repository.join(refused), &repository).unwrap_err();
            assert_eq!(fault.code, ErrorCode::InvalidRequest, "{refused}");
        }
    }
}
