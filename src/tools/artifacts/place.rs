//! Where files of a project lie: below its own folder, or where the operator says.

use std::path::{Path, PathBuf};

use crate::tools::Call;
use contract::{ErrorCode, Fault};
use store::Project;

/// Longest name of a file.
const NAME_BYTES_MAX: usize = 200;

/// A place on the server's disk.
#[derive(Debug, Clone)]
pub(in crate::tools) struct Place {
    /// The path.
    pub(in crate::tools) path: PathBuf,
    /// What answers call it: the path for the operator, else the name below the project's folder.
    pub(in crate::tools) shown: String,
}

impl Place {
    /// The place that a caller named, or `default` below the project's folder.
    ///
    /// # Errors
    /// `FORBIDDEN` for a path that only the operator may name; `INVALID_REQUEST` for one that names nothing.
    pub(in crate::tools) fn of(
        call: &Call,
        project: &Project,
        field: &str,
        named: Option<&str>,
        default: &str,
    ) -> Result<Self, Fault> {
        let operator = call.caller.principal.is_operator();
        let named = named.unwrap_or(default);
        let path = if is_plain(named) {
            call.app.layout.project(project.id().as_str()).join(named)
        } else if !operator {
            return Err(Fault::new(
                ErrorCode::Forbidden,
                format!("`{field}` may only be a plain name here."),
            )
            .with_hint("Give a name such as `index.sqlite`; it lies in the project's own folder."));
        } else {
            match (Path::new(named), &call.caller.directory) {
                (path, _) if path.is_absolute() => path.to_owned(),
                (path, Some(directory)) => directory.join(path),
                (_, None) => {
                    return Err(Fault::new(
                        ErrorCode::InvalidRequest,
                        format!("`{field}` is no absolute path."),
                    )
                    .with_hint("Give an absolute path, or a plain name in the project's folder."));
                }
            }
        };
        let shown = if operator { path.to_string_lossy().into_owned() } else { named.to_owned() };
        Ok(Self { path, shown })
    }

    /// A file in this folder.
    pub(in crate::tools) fn file(&self, name: &str) -> Self {
        Self { path: self.path.join(name), shown: format!("{}/{name}", self.shown.trim_end_matches('/')) }
    }
}

/// A name of a file, not a way to one; names that begin with a dot are our own.
fn is_plain(name: &str) -> bool {
    let odd = |c: char| c.is_control() || matches!(c, '/' | '\\');
    !name.is_empty() && name.len() <= NAME_BYTES_MAX && !name.starts_with('.') && !name.contains(odd)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_or_ways() {
        for name in ["index.sqlite", "a b", "größe.db"] {
            assert!(is_plain(name), "{name}");
        }
        for name in ["", ".", "..", "../x", "/x", "a/b", "a\\b", ".hidden", "a\0b"] {
            assert!(!is_plain(name), "{name:?}");
        }
    }
}
