//! Records which session configurations the user has confirmed.
//!
//! A `.pairofcleats.json` may come with the repository that contains it, from an untrusted author. It may choose the
//! project of calls that read. For calls that write, the user must have confirmed the file: this path with this text.
//! After a change it has to be confirmed again.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use serde_json::json;

use super::resolve::SessionFile;
use contract::config::Layout;
use contract::{ErrorCode, Fault};

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
        self.record_path(file).is_file()
    }

    /// Confirms the file with its present text.
    ///
    /// # Errors
    /// `INTERNAL` when the data directory cannot be written.
    pub fn confirm(&self, file: &SessionFile) -> Result<(), Fault> {
        let record = json!({ "path": file.path, "project_id": file.project_id });
        fs::create_dir_all(&self.directory)
            .and_then(|()| fs::write(self.record_path(file), format!("{record:#}\n")))
            .map_err(|error| self.not_writable(error))
    }

    /// Revokes the confirmation; false if there was none.
    ///
    /// # Errors
    /// `INTERNAL` when the data directory cannot be written.
    pub fn revoke(&self, file: &SessionFile) -> Result<bool, Fault> {
        match fs::remove_file(self.record_path(file)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(self.not_writable(error)),
        }
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
        .with_details(json!({ "file": path, "project_id": project_id })))
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
}
