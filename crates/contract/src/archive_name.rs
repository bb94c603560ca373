//! Names of archives that can be indexed as a repository.

/// Extensions of archives.
const ENDINGS: [&str; 5] = [".tar.gz", ".tgz", ".tar.zst", ".tar", ".zip"];

/// Checks whether the last part of a path is the name of an archive that can be indexed, in any case. It may still be a folder on disk.
#[must_use]
pub fn has_archive_name(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default().as_bytes();
    ENDINGS.iter().any(|ending| {
        let start = name.len().checked_sub(ending.len()).filter(|start| *start > 0);
        let end = start.and_then(|start| name.get(start..));
        end.is_some_and(|end| end.eq_ignore_ascii_case(ending.as_bytes()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_are_known_by_the_end_of_their_name() {
        for path in ["/srv/click-8.1.tar.gz", "/a.TGZ", "/a b.tar", "/x/y.tar.zst", "/x/größe.Zip", "a.zip"]
        {
            assert!(has_archive_name(path), "{path}");
        }
        for path in [
            "/srv/click", "/a.zip/src", "/.zip", "/.tar.gz", "/a.gz", "/a.zst", "/zip", "/a.zip.txt", "", "/",
        ] {
            assert!(!has_archive_name(path), "{path}");
        }
    }
}
