//! Writes a context pack to a file: in the project's folder, or for the operator at any path.

use std::fs::{self, DirBuilder};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use contract::{ErrorCode, Fault};
use gate::app::blocking;
use gate::tools::Call;
use store::Project;
use tenancy::AllowedRoots;

/// Subfolder of a project's folder for context packs.
const FOLDER: &str = "context-packs";
/// Longest file name, in bytes.
const NAME_BYTES_MAX: usize = 200;
/// An older draft was left behind by a process that died.
const DRAFT_AGE_MAX: Duration = Duration::from_secs(600);

/// The file of a context pack.
pub(super) struct PackFile {
    folder: PathBuf,
    name: String,
    /// The path as answers show it.
    pub(super) display_path: String,
}

impl PackFile {
    /// Resolves the argument `outPath`; the default name is the id of the record.
    pub(super) fn resolve(
        call: &Call,
        project: &Project,
        wanted: Option<&str>,
        record_id: &str,
    ) -> Result<Self, Fault> {
        let default = format!("{record_id}.json");
        let wanted = wanted.unwrap_or(&default);
        if Path::new(wanted).is_absolute() {
            return Self::resolve_absolute(call, wanted);
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        let plain = wanted.len() <= NAME_BYTES_MAX
            && wanted.ends_with(".json")
            && !wanted.starts_with('.')
            && wanted.chars().all(is_name);
        if !plain {
            return Err(Fault::new(ErrorCode::InvalidRequest, "`outPath` must be a file name that ends in .json.")
                .with_hint("Use letters, digits, dots, hyphens and underscores; the file is written to the project's folder."));
        }
        Ok(Self {
            folder: call.app.layout.project(project.id().as_str()).join(FOLDER),
            name: wanted.to_owned(),
            display_path: format!("{FOLDER}/{wanted}"),
        })
    }

    fn resolve_absolute(call: &Call, wanted: &str) -> Result<Self, Fault> {
        if !call.caller.principal.is_operator() {
            return Err(Fault::new(ErrorCode::Forbidden, "Only the operator may use absolute paths.")
                .with_hint("Give a file name; the file is written to the project's folder."));
        }
        let path = Path::new(wanted);
        let name = path.file_name().and_then(|name| name.to_str()).filter(|name| name.ends_with(".json"));
        let (Some(folder), Some(name)) = (path.parent(), name) else {
            return Err(Fault::new(ErrorCode::InvalidRequest, "`outPath` must end in .json."));
        };
        let folder = AllowedRoots::any().check(folder)?;
        Ok(Self { folder: folder.path().to_owned(), name: name.to_owned(), display_path: wanted.to_owned() })
    }
}

/// Replaces the file atomically: readers see the old or the new content. `unique` distinguishes concurrent writers of one
/// process.
pub(super) async fn write_pack(file: PackFile, json: Vec<u8>, unique: i128) -> Result<(), Fault> {
    blocking(move || {
        let PackFile { folder, name, display_path } = file;
        write_atomically(&folder, &name, &json, unique).map_err(|error| {
            Fault::new(ErrorCode::IllegalState, format!("`{display_path}` cannot be written."))
                .with_hint("Check the free disk space and the owner of the folder.")
                .with_source(error)
        })
    })
    .await
}

fn write_atomically(folder: &Path, name: &str, json: &[u8], unique: i128) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let draft_prefix = format!(".{name}.");
    remove_abandoned_drafts(folder, &draft_prefix)?;
    let draft = folder.join(format!("{draft_prefix}{}-{unique}.tmp", std::process::id()));
    let written = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&draft)
        .and_then(|mut file| file.write_all(json).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&draft, folder.join(name)));
    if written.is_err() {
        // If this fails as well, a later call removes the abandoned draft.
        let _ = fs::remove_file(&draft);
    }
    written
}

/// Removes drafts whose names begin with `prefix` and that are older than [`DRAFT_AGE_MAX`].
fn remove_abandoned_drafts(folder: &Path, prefix: &str) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let is_draft =
            entry.file_name().to_str().is_some_and(|name| name.starts_with(prefix) && name.ends_with(".tmp"));
        let age =
            entry.metadata().and_then(|metadata| metadata.modified()).ok().and_then(|at| at.elapsed().ok());
        if is_draft && age.is_some_and(|age| age > DRAFT_AGE_MAX) {
            match fs::remove_file(entry.path()) {
                // Another call removed it in the meantime.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                removed => removed?,
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writing_replaces_the_file_and_removes_abandoned_drafts() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("a/b");
        write_atomically(&inside, "x.json", b"1", 1).unwrap();
        let old = inside.join(".x.json.7-7.tmp");
        fs::write(&old, "half").unwrap();
        let long_ago = std::time::SystemTime::UNIX_EPOCH;
        fs::File::options().write(true).open(&old).unwrap().set_modified(long_ago).unwrap();
        let young = inside.join(".x.json.8-8.tmp");
        fs::write(&young, "half").unwrap();
        write_atomically(&inside, "x.json", b"2", 2).unwrap();
        assert_eq!(fs::read(inside.join("x.json")).unwrap(), b"2");
        assert!(!old.exists() && young.exists());
    }
}
