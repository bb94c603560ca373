//! Where a context pack is written: below the project's own folder, or where the operator says.

use std::fs::{self, DirBuilder};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::app::blocking;
use crate::tools::Call;
use contract::{ErrorCode, Fault};
use store::Project;
use tenancy::AllowedRoots;

/// The folder of packs in a project's folder.
const FOLDER: &str = "context-packs";
/// Longest name in bytes.
const NAME_BYTES_MAX: usize = 200;
/// A draft that is older was left by a process that died.
const DRAFT_AGE_MAX: Duration = Duration::from_secs(600);

/// A file that may be written.
pub(super) struct Place {
    folder: PathBuf,
    name: String,
    /// As answers name it.
    pub(super) named: String,
}

impl Place {
    /// The file that a caller wants, or the usual one of a record.
    pub(super) fn of(
        call: &Call,
        project: &Project,
        wanted: Option<&str>,
        record_id: &str,
    ) -> Result<Self, Fault> {
        let usual = format!("{record_id}.json");
        let wanted = wanted.unwrap_or(&usual);
        if Path::new(wanted).is_absolute() {
            return Self::anywhere(call, wanted);
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        let plain = wanted.len() <= NAME_BYTES_MAX
            && wanted.ends_with(".json")
            && !wanted.starts_with('.')
            && wanted.chars().all(is_name);
        if !plain {
            return Err(Fault::new(ErrorCode::InvalidRequest, "outPath must be a plain name that ends in .json.")
                .with_hint("Use letters, digits, dots, hyphens and underscores; the file stands below the project's folder."));
        }
        Ok(Self {
            folder: call.app.layout.project(project.id().as_str()).join(FOLDER),
            name: wanted.to_owned(),
            named: format!("{FOLDER}/{wanted}"),
        })
    }

    fn anywhere(call: &Call, wanted: &str) -> Result<Self, Fault> {
        if !call.caller.principal.is_operator() {
            return Err(Fault::new(
                ErrorCode::Forbidden,
                "Only the operator may name files by absolute paths.",
            )
            .with_hint("Give a plain name; the file stands below the project's folder."));
        }
        let path = Path::new(wanted);
        let name = path.file_name().and_then(|name| name.to_str()).filter(|name| name.ends_with(".json"));
        let (Some(folder), Some(name)) = (path.parent(), name) else {
            return Err(Fault::new(ErrorCode::InvalidRequest, "outPath must end in .json."));
        };
        let folder = AllowedRoots::any().check(folder)?;
        Ok(Self { folder: folder.path().to_owned(), name: name.to_owned(), named: wanted.to_owned() })
    }
}

/// Writes aside and renames, so that a reader sees the old file or the new one; `unique` tells writers apart.
pub(super) async fn write(place: Place, json: Vec<u8>, unique: i128) -> Result<(), Fault> {
    blocking(move || {
        let Place { folder, name, named } = place;
        put(&folder, &name, &json, unique).map_err(|error| {
            Fault::new(ErrorCode::IllegalState, format!("`{named}` cannot be written."))
                .with_hint("Check the free space and who owns the folder.")
                .with_source(error)
        })
    })
    .await
}

fn put(folder: &Path, name: &str, json: &[u8], unique: i128) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let drafts = format!(".{name}.");
    remove_old(folder, &drafts)?;
    let draft = folder.join(format!("{drafts}{}-{unique}.tmp", std::process::id()));
    let written = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&draft)
        .and_then(|mut file| file.write_all(json).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&draft, folder.join(name)));
    if written.is_err() {
        // What cannot be removed either is old one day.
        let _ = fs::remove_file(&draft);
    }
    written
}

/// Removes drafts that nobody writes any more.
fn remove_old(folder: &Path, drafts: &str) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let is_draft =
            entry.file_name().to_str().is_some_and(|name| name.starts_with(drafts) && name.ends_with(".tmp"));
        let age =
            entry.metadata().and_then(|metadata| metadata.modified()).ok().and_then(|at| at.elapsed().ok());
        if is_draft && age.is_some_and(|age| age > DRAFT_AGE_MAX) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_whole_and_drafts_of_the_dead_go() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("a/b");
        put(&inside, "x.json", b"1", 1).unwrap();
        let old = inside.join(".x.json.7-7.tmp");
        fs::write(&old, "half").unwrap();
        let long_ago = std::time::SystemTime::UNIX_EPOCH;
        fs::File::options().write(true).open(&old).unwrap().set_modified(long_ago).unwrap();
        let young = inside.join(".x.json.8-8.tmp");
        fs::write(&young, "half").unwrap();
        put(&inside, "x.json", b"2", 2).unwrap();
        assert_eq!(fs::read(inside.join("x.json")).unwrap(), b"2");
        assert!(!old.exists() && young.exists());
    }
}
