//! Which directories may be indexed.

use std::path::{Path, PathBuf};

use crate::contract::{ErrorCode, Fault};

/// Trees of the kernel: endless, and not anybody's source.
const KERNEL_TREES: [&str; 3] = ["/proc", "/sys", "/dev"];

/// A repository's root that was checked: absolute, canonical, a directory, allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryRoot(PathBuf);

impl RepositoryRoot {
    /// The canonical path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The canonical path as text, as it is stored.
    #[must_use]
    pub fn as_str(&self) -> &str {
        // Checked by `repository_root`.
        self.0.to_str().unwrap_or_default()
    }

    /// The directory's own name, which answers show.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }
}

/// Checks that a caller may have `path` indexed: the operator on this machine, who is `local`, may name any
/// directory where no list restricts it; everybody else only what stands on the list.
///
/// # Errors
/// As [`repository_root`].
pub fn indexable_root(path: &Path, allowed: &[PathBuf], local: bool) -> Result<RepositoryRoot, Fault> {
    if allowed.is_empty() && !local {
        return Err(outside(path));
    }
    repository_root(path, allowed)
}

/// Checks that `path` may be indexed. `allowed` are the directories the operator allows, with everything
/// below them; empty means any.
///
/// # Errors
/// `INVALID_REQUEST` when it is not absolute or not UTF-8, `NOT_FOUND` when there is no such directory,
/// `FORBIDDEN` when it may not be indexed.
pub fn repository_root(path: &Path, allowed: &[PathBuf]) -> Result<RepositoryRoot, Fault> {
    if !path.is_absolute() {
        return Err(Fault::new(ErrorCode::InvalidRequest, "The repository path must be absolute.")
            .with_hint("Give the full path, for example /home/me/project."));
    }
    // Outside of what is allowed, what exists and what does not look alike.
    let named_inside = allowed.is_empty() || allowed.iter().any(|root| path.starts_with(root));
    let canonical = match path.canonicalize() {
        Ok(canonical) => canonical,
        Err(_) if !named_inside => return Err(outside(path)),
        Err(error) => return Err(absent(path).with_source(error)),
    };
    // A root that does not exist allows nothing.
    let inside = |root: &PathBuf| root.canonicalize().is_ok_and(|root| canonical.starts_with(root));
    let allowed_there = allowed.is_empty() || allowed.iter().any(inside);
    if !canonical.is_dir() && named_inside {
        // What lies behind a link that leads out is not told.
        return Err(if allowed_there { no_directory(path) } else { absent(path) });
    }
    if canonical.to_str().is_none() {
        return Err(Fault::new(ErrorCode::InvalidRequest, "The repository path is not UTF-8.")
            .with_hint("Rename the directory."));
    }
    let kernel = KERNEL_TREES.iter().any(|tree| canonical.starts_with(tree));
    if canonical.parent().is_none() || kernel {
        return Err(Fault::new(ErrorCode::Forbidden, format!("{} is never indexed.", path.display()))
            .with_hint("Name the directory of one repository."));
    }
    if !allowed_there {
        return Err(outside(path));
    }
    Ok(RepositoryRoot(canonical))
}

fn outside(path: &Path) -> Fault {
    Fault::new(ErrorCode::Forbidden, format!("{} is outside the allowed directories.", path.display()))
        .with_hint("Ask the operator to add it to indexing.roots.")
}

fn no_directory(path: &Path) -> Fault {
    Fault::new(ErrorCode::NotFound, format!("{} is a file, not a directory.", path.display()))
        .with_hint("Name the directory of the repository.")
}

fn absent(path: &Path) -> Fault {
    Fault::new(ErrorCode::NotFound, format!("There is no directory {}.", path.display()))
        .with_hint("Check its spelling; only the command line takes relative paths.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(path: &str, allowed: &[PathBuf]) -> ErrorCode {
        repository_root(Path::new(path), allowed).unwrap_err().code
    }

    #[test]
    fn refuses_what_is_not_a_repository() {
        assert_eq!(code("src", &[]), ErrorCode::InvalidRequest);
        assert_eq!(code("/no/such/directory", &[]), ErrorCode::NotFound);
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(code(file.path().to_str().unwrap(), &[]), ErrorCode::NotFound);
        for path in ["/", "/proc", "/proc/self", "/dev", "/../"] {
            assert_eq!(code(path, &[]), ErrorCode::Forbidden, "{path}");
        }
    }

    #[test]
    fn from_elsewhere_only_what_is_listed_may_be_indexed() {
        let real = tempfile::tempdir().unwrap();
        assert!(indexable_root(real.path(), &[], true).is_ok());
        let refused = |path: &Path| indexable_root(path, &[], false).unwrap_err();
        assert_eq!(refused(real.path()).code, ErrorCode::Forbidden);
        assert_eq!(refused(Path::new("/no/such/directory")).code, ErrorCode::Forbidden, "both look alike");
        assert!(indexable_root(real.path(), &[real.path().to_path_buf()], false).is_ok());
    }

    #[test]
    fn a_link_cannot_lead_out_of_the_allowed_roots() {
        let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let allowed = [inside.path().to_path_buf()];
        let real = inside.path().join("repo");
        std::fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(outside.path(), inside.path().join("link")).unwrap();
        assert_eq!(repository_root(&real, &allowed).unwrap().name(), "repo");
        for path in [inside.path().join("link"), outside.path().to_path_buf(), real.join("../../")] {
            assert_eq!(repository_root(&path, &allowed).unwrap_err().code, ErrorCode::Forbidden, "{path:?}");
        }
    }
}
