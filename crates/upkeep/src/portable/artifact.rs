//! Writes the index of one repository at one commit as a portable file for others, with its checksum beside it.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use tokio_util::sync::CancellationToken;

use super::build::{BuildReport, BuildRequest, ComparedState, IndexPart, build_file, plain_name};
use super::replacement::write_fault;
use contract::Fault;
use contract::clock::Clock;
use contract::config;
use platform::task::blocking;
use store::portable::ArtifactCommit;
use store::{Project, RepositoryRow, Store};

/// The most characters of a repository's name in the name of an artifact: of four bytes each, they leave space for the rest.
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
    /// The settings `portable.*`.
    pub settings: &'a config::Portable,
    /// Source of the time that the file records.
    pub clock: &'a dyn Clock,
    /// Fires when the command is cancelled.
    pub cancel: &'a CancellationToken,
    /// Called with the number of written files and of all files.
    pub progress: &'a (dyn Fn(u64, u64) + Send + Sync),
}

/// A written artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// Path of the portable file.
    pub path: PathBuf,
    /// What was written.
    pub report: BuildReport,
}

/// Returns the file name of an artifact: the repository, the commit, and whether the indexed files differ from it.
fn artifact_file_name(repository: &str, commit: &ArtifactCommit) -> String {
    let name = plain_name(repository, NAME_CHARS_MAX);
    // A hidden file is left out by many programs, and one with a leading `-` is taken for an option.
    let name = if name.starts_with(['.', '-']) { format!("_{name}") } else { name };
    let dirty = if commit.is_dirty { "-dirty" } else { "" };
    format!("{name}-{}{dirty}.sqlite", commit.id)
}

/// Writes the portable file, then its checksum in the form of `sha256sum`. A file of the same name is replaced.
///
/// # Errors
/// `ILLEGAL_STATE` if the repository is being indexed again, or another run is writing the file; `CANCELLED`; storage faults.
pub async fn write_artifact(request: &ArtifactRequest<'_>) -> Result<Artifact, Fault> {
    let path = request.folder.join(artifact_file_name(&request.repository.name, request.commit));
    let checksum = checksum_path(&path);
    let (folder, old_checksum) = (request.folder.to_owned(), checksum.clone());
    blocking(move || {
        create_ignored_folder(&folder)?;
        // If the process dies in between, the new file must not be beside the checksum of the old one.
        remove_if_present(&old_checksum)
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
        progress: request.progress,
    };
    let compared = ComparedState { commit: request.commit, generation: request.repository.generation };
    let report = build_file(&build, Some(&compared)).await?;
    let line = format!("{}  {}\n", report.sha256, path.file_name().unwrap_or_default().to_string_lossy());
    blocking(move || write_whole(&checksum, line.as_bytes())).await?;
    Ok(Artifact { path, report })
}

/// The path of the file with the checksum of an artifact.
fn checksum_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".sha256");
    PathBuf::from(name)
}

/// Creates the folder unless it exists. Git and index runs ignore a folder that this creates, because it contains no source code.
fn create_ignored_folder(folder: &Path) -> Result<(), Fault> {
    if folder.exists() {
        return Ok(());
    }
    fs::create_dir_all(folder).map_err(write_fault)?;
    fs::write(folder.join(".gitignore"), "*\n").map_err(write_fault)
}

fn remove_if_present(file: &Path) -> Result<(), Fault> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(write_fault(error)),
        _ => Ok(()),
    }
}

/// Writes a file under a temporary name and renames it, so that no reader sees a part of it.
fn write_whole(path: &Path, content: &[u8]) -> Result<(), Fault> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".part");
    let temporary = PathBuf::from(temporary);
    let write = || -> std::io::Result<()> {
        // Never through a link that somebody put there.
        let _ = fs::remove_file(&temporary);
        let mut file = File::create_new(&temporary)?;
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    };
    write().map_err(write_fault)
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
    fn a_checksum_is_replaced_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let file = checksum_path(&folder.path().join("a.sqlite"));
        assert!(file.ends_with("a.sqlite.sha256"));
        remove_if_present(&file).unwrap();
        for content in ["long content", "short"] {
            write_whole(&file, content.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), content);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file is left");
        remove_if_present(&file).unwrap();
        assert!(!file.exists());
    }
}
