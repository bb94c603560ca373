//! Records which session configurations the user has confirmed.
//!
//! A `.pairofcleats.json` may come with the repository that contains it, from an untrusted author. It may choose the
//! project of calls that read. For calls that write, the user must have confirmed the file: this path with this text.
//! After a change it has to be confirmed again.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::json;

use super::resolve::SessionFile;
use contract::config::Layout;
use contract::{ErrorCode, Fault};

/// The part of a record that is read.
#[derive(Deserialize)]
struct Record {
    /// The path of the confirmed file.
    path: String,
}

/// The confirmations of one installation: one small file each, named after a hash of path and text.
#[derive(Debug, Clone)]
pub struct Trust {
    directory: PathBuf,
}

impl Trust {
    /// The confirmations of the installation.
    #[must_use]
    pub fn new(layout: &Layout) -> Self {
        Self { directory: layout.trusted_sessions() }
    }

    /// Whether the user confirmed the file with its present text.
    #[must_use]
    pub fn is_confirmed(&self, file: &SessionFile) -> bool {
        // Only a record that names the path counts, because `revoke` finds no other.
        fs::read(self.record_path(file)).is_ok_and(|record| is_record_of(&record, &file.path))
    }

    /// Confirms the file with its present text.
    ///
    /// # Errors
    /// `INTERNAL` when the data directory cannot be written.
    pub fn confirm(&self, file: &SessionFile) -> Result<(), Fault> {
        let record = json!({ "path": file.path.to_string_lossy(), "project_id": file.project_id });
        fs::create_dir_all(&self.directory)
            .and_then(|()| fs::write(self.record_path(file), format!("{record:#}\n")))
            .map_err(|error| self.not_writable(error))
    }

    /// Revokes all confirmations of the file, also those of its earlier texts; false if there were none.
    ///
    /// # Errors
    /// `INTERNAL` when the data directory cannot be read or written.
    pub fn revoke(&self, file: &SessionFile) -> Result<bool, Fault> {
        self.remove_records(&file.path).map_err(|error| self.not_writable(error))
    }

    /// Removes the records of a path; false if there were none.
    fn remove_records(&self, path: &Path) -> io::Result<bool> {
        let entries = match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            entries => entries?,
        };
        let mut removed = false;
        for entry in entries {
            let entry = entry?.path();
            if !entry.is_file() {
                continue;
            }
            let removed_here = fs::read(&entry).and_then(|record| match is_record_of(&record, path) {
                true => fs::remove_file(&entry).map(|()| true),
                false => Ok(false),
            });
            match removed_here {
                // Another process revoked it at the same time.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                removed_here => removed |= removed_here?,
            }
        }
        Ok(removed)
    }

    /// Requires that the user confirmed the file; for calls that write into the project that it names.
    ///
    /// # Errors
    /// `FORBIDDEN`, with the command that confirms the file.
    pub fn require(&self, file: &SessionFile) -> Result<(), Fault> {
        if self.is_confirmed(file) {
            return Ok(());
        }
        let SessionFile { path, project_id, .. } = file;
        let directory = path.parent().unwrap_or(path);
        Err(Fault::new(
            ErrorCode::Forbidden,
            format!(
                "{} names the project `{project_id}` for this call, which writes, but the file is not confirmed.",
                path.display()
            ),
        )
        .with_hint(format!(
            "It comes with the repository. If it names the right project, the user runs `pairofcleats trust {}` once; or name the project: project_id, --project.",
            directory.display()
        ))
        .with_details(json!({ "file": path.to_string_lossy(), "project_id": project_id })))
    }

    fn record_path(&self, file: &SessionFile) -> PathBuf {
        let mut hasher = blake3::Hasher::new();
        for part in [file.path.as_os_str().as_bytes(), file.text.as_bytes()] {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
        self.directory.join(format!("{}.json", hasher.finalize().to_hex()))
    }

    fn not_writable(&self, error: io::Error) -> Fault {
        Fault::internal(format!("{} cannot be written.", self.directory.display()), error)
            .with_hint("Make the data directory writable for this user.")
    }
}

/// Whether the content of a record is valid and names this path.
fn is_record_of(record: &[u8], path: &Path) -> bool {
    serde_json::from_slice::<Record>(record).is_ok_and(|record| record.path == path.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::session_file;

    #[test]
    fn a_confirmation_is_for_one_path_and_text() {
        let home = tempfile::tempdir().unwrap();
        let trust = Trust::new(&Layout::new(home.path().to_owned()));
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let directory = root.path().join(name);
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join(".pairofcleats.json"), text).unwrap();
            session_file(&directory).unwrap().unwrap()
        };
        let file = write("a", r#"{"project_id": "client-a"}"#);
        let fault = trust.require(&file).unwrap_err();
        assert_eq!(fault.code, ErrorCode::Forbidden);
        assert!(fault.hint.unwrap().contains("pairofcleats trust /"));
        trust.confirm(&file).unwrap();
        assert!(trust.require(&file).is_ok());
        assert!(!trust.is_confirmed(&write("a", r#"{"project_id": "client-b"}"#)), "another text");
        assert!(trust.is_confirmed(&write("a", r#"{"project_id": "client-a"}"#)), "the confirmed one again");
        assert!(!trust.is_confirmed(&write("b", r#"{"project_id": "client-a"}"#)), "another path");
        assert!(trust.revoke(&file).unwrap() && !trust.revoke(&file).unwrap());
        assert!(!trust.is_confirmed(&file));
    }

    #[test]
    fn a_revocation_is_for_all_texts_of_the_path() {
        let home = tempfile::tempdir().unwrap();
        let trust = Trust::new(&Layout::new(home.path().to_owned()));
        let file = |path: &str, text: &str| SessionFile {
            path: Path::new(path).to_owned(),
            project_id: "client-a".into(),
            text: text.into(),
        };
        let (old, new, other) = (file("/a", "old"), file("/a", "new"), file("/b", "old"));
        assert!(!trust.revoke(&old).unwrap(), "no directory yet");
        for confirmed in [&old, &new, &other] {
            trust.confirm(confirmed).unwrap();
        }
        fs::write(trust.directory.join("damaged.json"), "{").unwrap();
        assert!(trust.revoke(&file("/a", "newest")).unwrap());
        assert!(!trust.is_confirmed(&old) && !trust.is_confirmed(&new));
        assert!(trust.is_confirmed(&other), "another path");
        assert!(!trust.revoke(&old).unwrap());
    }

    #[test]
    fn a_damaged_record_confirms_nothing() {
        let home = tempfile::tempdir().unwrap();
        let trust = Trust::new(&Layout::new(home.path().to_owned()));
        let file = SessionFile { path: "/a".into(), project_id: "client-a".into(), text: "text".into() };
        trust.confirm(&file).unwrap();
        fs::write(trust.record_path(&file), "").unwrap();
        assert!(!trust.is_confirmed(&file), "a revocation would not find it");
    }
}
