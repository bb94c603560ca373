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

use super::resolve::{SESSION_FILE, SessionFile, levels, session_file_in};
use contract::config::Layout;
use contract::{ErrorCode, Fault};

/// The part of a record that is read.
#[derive(Deserialize)]
struct Record {
    /// The path of the confirmed file.
    path: String,
}

/// The file that [`Trust::revoke_nearest`] found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revocation {
    /// Its path. The file need not exist any more.
    pub file: PathBuf,
    /// The project that it names, if it can be read and names one.
    pub project_id: Option<String>,
    /// `true` if it was confirmed.
    pub was_confirmed: bool,
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

    /// Returns `true` if the user confirmed the file with its present text.
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

    /// Revokes all confirmations, also those of earlier texts, of the nearest file in `directory` or above it that was
    /// confirmed, or that would decide the project of calls from there. Only its place matters: the file may be invalid,
    /// unreadable or gone. `None` if there is no such file.
    ///
    /// # Errors
    /// `INTERNAL` when the data directory cannot be read or written.
    pub fn revoke_nearest(&self, directory: &Path) -> Result<Option<Revocation>, Fault> {
        let directory = resolved(directory);
        for level in levels(&directory) {
            let file = level.join(SESSION_FILE);
            let was_confirmed = self.revoke(&file)?;
            let found = session_file_in(level);
            // With a file that cannot be used, calls fail instead of using one further up.
            if was_confirmed || !matches!(found, Ok(None)) {
                let project_id = found.ok().flatten().map(|found| found.project_id);
                return Ok(Some(Revocation { file, project_id, was_confirmed }));
            }
        }
        Ok(None)
    }

    /// Revokes all confirmations of the file at `path`; false if there were none.
    fn revoke(&self, path: &Path) -> Result<bool, Fault> {
        self.remove_records(path).map_err(|error| self.not_writable(error))
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

/// The path with links resolved. Its last parts need not exist.
fn resolved(path: &Path) -> PathBuf {
    let resolve_existing = |existing: &Path| {
        let rest = path.strip_prefix(existing).ok()?;
        existing.canonicalize().ok().map(|real| real.join(rest))
    };
    path.ancestors().find_map(resolve_existing).unwrap_or_else(|| path.to_owned())
}

/// Returns `true` if the content of a record is valid and names this path.
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
        let directory = root.path().join("a");
        for was_confirmed in [true, false] {
            let revocation = trust.revoke_nearest(&directory).unwrap().unwrap();
            let (file, project_id) = (file.path.clone(), Some(file.project_id.clone()));
            assert_eq!(revocation, Revocation { file, project_id, was_confirmed });
        }
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
        assert!(!trust.revoke(&old.path).unwrap(), "no directory yet");
        for confirmed in [&old, &new, &other] {
            trust.confirm(confirmed).unwrap();
        }
        fs::write(trust.directory.join("damaged.json"), "{").unwrap();
        assert!(trust.revoke(Path::new("/a")).unwrap());
        assert!(!trust.is_confirmed(&old) && !trust.is_confirmed(&new));
        assert!(trust.is_confirmed(&other), "another path");
        assert!(!trust.revoke(&old.path).unwrap());
    }

    #[test]
    fn a_revocation_needs_no_readable_file() {
        let home = tempfile::tempdir().unwrap();
        let trust = Trust::new(&Layout::new(home.path().to_owned()));
        let root = tempfile::tempdir().unwrap();
        let (outer, inner) = (root.path().join("outer"), root.path().join("outer/inner"));
        let valid = r#"{"project_id": "client-a"}"#;
        let too_long = " ".repeat(70_000);
        let confirm = |directory: &Path| {
            fs::create_dir_all(directory).unwrap();
            fs::write(directory.join(SESSION_FILE), valid).unwrap();
            trust.confirm(&session_file(directory).unwrap().unwrap()).unwrap();
        };
        let revoke = |directory: &Path| {
            let revoked = trust.revoke_nearest(directory).unwrap()?;
            let level = revoked.file.parent().unwrap().strip_prefix(root.path().canonicalize().unwrap());
            Some((level.unwrap().to_string_lossy().into_owned(), revoked.was_confirmed))
        };
        let found = |level: &str, was_confirmed| Some((level.to_owned(), was_confirmed));
        for text in [None, Some("{"), Some(r#"{"project_id": 1}"#), Some("{}"), Some(too_long.as_str())] {
            confirm(&outer);
            confirm(&inner);
            match text {
                Some(text) => fs::write(inner.join(SESSION_FILE), text).unwrap(),
                None => fs::remove_file(inner.join(SESSION_FILE)).unwrap(),
            }
            assert_eq!(revoke(&inner), found("outer/inner", true), "{text:?}");
            // Now the file further up counts, unless one that cannot be used is before it.
            let names_none = matches!(text, None | Some("{}"));
            let next = if names_none { found("outer", true) } else { found("outer/inner", false) };
            assert_eq!(revoke(&inner), next, "{text:?}");
            assert_eq!(revoke(&outer), found("outer", !names_none), "{text:?}");
        }
        confirm(&inner);
        fs::remove_dir_all(&outer).unwrap();
        assert_eq!(revoke(&inner), found("outer/inner", true), "the directory is gone");
        assert_eq!(revoke(&inner), None);
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
