//! Resolves arguments that name a file of a project: a name in the project's folder, or for the operator any path.

use std::path::{Path, PathBuf};

use crate::tools::Call;
use contract::{ErrorCode, Fault};
use store::Project;

/// Longest file name.
const NAME_BYTES_MAX: usize = 200;

/// A file or folder on the server's disk.
#[derive(Debug, Clone)]
pub(in crate::tools) struct ProjectFile {
    /// Absolute path.
    pub(in crate::tools) path: PathBuf,
    /// The path as answers show it: absolute for the operator, else relative to the project's folder.
    pub(in crate::tools) display_path: String,
}

impl ProjectFile {
    /// Resolves the argument `field` of a call; `default` is a name in the project's folder.
    ///
    /// # Errors
    /// `FORBIDDEN` for a path from anyone but the operator; `INVALID_REQUEST` for a relative path without a base.
    pub(in crate::tools) fn resolve(
        call: &Call,
        project: &Project,
        field: &str,
        named: Option<&str>,
        default: &str,
    ) -> Result<Self, Fault> {
        let operator = call.caller.principal.is_operator();
        let named = named.unwrap_or(default);
        let path = if is_plain_name(named) {
            call.app.layout.project(project.id().as_str()).join(named)
        } else if !operator {
            return Err(Fault::new(
                ErrorCode::Forbidden,
                format!("`{field}` must be a file name without folders."),
            )
            .with_hint("Give a name such as `index.sqlite`; the file is in the project's folder."));
        } else {
            match (Path::new(named), &call.caller.directory) {
                (path, _) if path.is_absolute() => path.to_owned(),
                (path, Some(directory)) => directory.join(path),
                (_, None) => {
                    return Err(Fault::new(
                        ErrorCode::InvalidRequest,
                        format!("`{field}` must be an absolute path."),
                    )
                    .with_hint("Give an absolute path, or a file name in the project's folder."));
                }
            }
        };
        let display_path = if operator { path.to_string_lossy().into_owned() } else { named.to_owned() };
        Ok(Self { path, display_path })
    }

    /// A file in this folder.
    pub(in crate::tools) fn file(&self, name: &str) -> Self {
        Self {
            path: self.path.join(name),
            display_path: format!("{}/{name}", self.display_path.trim_end_matches('/')),
        }
    }
}

/// Returns `true` if an argument is a file name without folders. Names that begin with a dot are reserved for temporary files.
fn is_plain_name(name: &str) -> bool {
    let forbidden = |c: char| c.is_control() || matches!(c, '/' | '\\');
    !name.is_empty() && name.len() <= NAME_BYTES_MAX && !name.starts_with('.') && !name.contains(forbidden)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_file_names_are_plain() {
        for name in ["index.sqlite", "a b", "größe.db"] {
            assert!(is_plain_name(name), "{name}");
        }
        for name in ["", ".", "..", "../x", "/x", "a/b", "a\\b", ".hidden", "a\0b"] {
            assert!(!is_plain_name(name), "{name:?}");
        }
    }
}
