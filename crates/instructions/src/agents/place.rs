//! Locations of agents' files, and the folder to which a location limits a file.

/// Longest path that is examined, in bytes.
const PATH_BYTES_MAX: usize = 512;

/// The paths of a kind of file, relative to the root of the repository.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place {
    /// One file.
    File(&'static str),
    /// A file with this name in any folder; it applies to that folder.
    AnyFolder(&'static str),
    /// A file with this name in a folder of its own, whose name identifies it.
    OwnFolder(&'static str),
    /// Files that end with `suffix` at any depth of `folder`. If `folder` is in another folder, they apply to that one.
    Below { folder: &'static str, suffix: &'static str },
}

impl Place {
    /// Returns the paths as a glob.
    pub(super) fn pattern(self) -> String {
        match self {
            Self::File(path) => path.to_owned(),
            Self::AnyFolder(name) | Self::OwnFolder(name) => format!("**/{name}"),
            Self::Below { folder, suffix } => format!("**/{folder}/**/*{suffix}"),
        }
    }

    pub(super) fn contains(self, path: &str) -> bool {
        self.parts(path).is_some()
    }

    /// Returns the folder to which the place limits a file, without a slash at its end; empty if it does not limit it.
    pub(super) fn limiting_folder(self, path: &str) -> &str {
        self.parts(path).map_or("", |(folder, _)| folder)
    }

    /// Returns what distinguishes the file from others of its kind: its folder and, for rules, its name below the folder.
    pub(super) fn distinction(self, path: &str) -> String {
        let (folder, name) = self.parts(path).unwrap_or_default();
        [folder, name].iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join("/")
    }

    /// Returns the short form of a path: only the name, for a file in the folder of its kind at the root.
    pub(super) fn short_path(self, path: &str) -> Option<&str> {
        match self {
            Self::Below { folder, suffix } => path
                .strip_prefix(folder)?
                .strip_prefix('/')?
                .strip_suffix(suffix)
                .filter(|name| !name.is_empty()),
            _ => None,
        }
    }

    /// Returns the path whose short form is `short`.
    pub(super) fn long_path(self, short: &str) -> Option<String> {
        match self {
            Self::Below { folder, suffix } => Some(format!("{folder}/{short}{suffix}")),
            _ => None,
        }
    }

    /// Splits a path into the limiting folder and the distinguishing name.
    fn parts(self, path: &str) -> Option<(&str, &str)> {
        match self {
            Self::File(own) => (path == own).then_some(("", "")),
            Self::AnyFolder(name) => Some((folder_of(path, name)?, "")),
            Self::OwnFolder(name) => Some(("", folder_of(path, name)?.rsplit('/').next()?)),
            Self::Below { folder, suffix } => {
                let stem = path.strip_suffix(suffix)?;
                let (before, name) = match stem.strip_prefix(folder) {
                    Some(name) => ("", name),
                    None => stem
                        .split_once(&format!("/{folder}/"))
                        .map(|(before, _)| (before, &stem[before.len() + 1 + folder.len()..]))?,
                };
                let name = name.strip_prefix('/').filter(|name| !name.is_empty() && !name.ends_with('/'))?;
                Some((before, name))
            }
        }
    }
}

/// Returns the folder of a file with this name; empty at the root.
fn folder_of<'a>(path: &'a str, name: &str) -> Option<&'a str> {
    let folder = path.strip_suffix(name)?;
    if folder.is_empty() { Some("") } else { folder.strip_suffix('/') }
}

/// Checks whether `path` is relative, stays inside its root and is in its canonical form.
pub(super) fn is_clean_path(path: &str) -> bool {
    let is_clean_name = |name: &str| {
        !matches!(name, "" | "." | "..")
            && !name.chars().any(|character| character.is_control() || matches!(character, '\\' | ':'))
    };
    path.len() <= PATH_BYTES_MAX && path.split('/').all(is_clean_name)
}

/// Returns the glob of all files in a folder.
pub(super) fn folder_glob(folder: &str) -> String {
    format!("{}/**", globset::escape(folder))
}

/// Returns the folder whose files are exactly those that a glob matches; `None` if it matches others.
pub(super) fn folder_of_glob(glob: &str) -> Option<String> {
    let mut escaped = glob.strip_suffix("/**")?;
    let mut folder = String::with_capacity(escaped.len());
    while let Some(character) = escaped.chars().next() {
        let mut characters = escaped.chars();
        characters.next();
        // `globset::escape` writes `[x]`.
        if character == '[' {
            folder.extend(characters.next());
            if characters.next() != Some(']') {
                return None;
            }
        } else if "*?]{}!\\".contains(character) {
            return None;
        } else {
            folder.push(character);
        }
        escaped = characters.as_str();
    }
    (is_clean_path(&folder) && folder_glob(&folder) == glob).then_some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_have_a_folder_and_a_distinction() {
        let rules = Place::Below { folder: ".cursor/rules", suffix: ".mdc" };
        let agents = Place::AnyFolder("AGENTS.md");
        for (place, path, expected) in [
            (agents, "AGENTS.md", Some(("", ""))),
            (agents, "web/app/AGENTS.md", Some(("web/app", "web/app"))),
            (agents, "MY-AGENTS.md", None),
            (Place::OwnFolder("SKILL.md"), "a/pdf/SKILL.md", Some(("", "pdf"))),
            (Place::OwnFolder("SKILL.md"), "SKILL.md", Some(("", ""))),
            (agents, "agents.md", None),
            (rules, ".cursor/rules/a.mdc", Some(("", "a"))),
            (rules, "web/.cursor/rules/b/a.mdc", Some(("web", "web/b/a"))),
            (rules, ".cursor/rules/.mdc", None),
            (rules, ".cursor/rules/b/.mdc", None),
            (rules, ".cursor/rulesx/a.mdc", None),
            (rules, "x.cursor/rules/a.mdc", None),
            (rules, ".cursor/a.mdc", None),
            (Place::File(".windsurfrules"), ".windsurfrules", Some(("", ""))),
            (Place::File(".windsurfrules"), "web/.windsurfrules", None),
        ] {
            assert_eq!(place.contains(path), expected.is_some(), "{path}");
            if let Some((folder, distinction)) = expected {
                assert_eq!(place.limiting_folder(path), folder, "{path}");
                assert_eq!(place.distinction(path), distinction, "{path}");
            }
        }
        assert_eq!(rules.pattern(), "**/.cursor/rules/**/*.mdc");
        assert_eq!(rules.short_path(".cursor/rules/b/a.mdc"), Some("b/a"));
        assert_eq!(rules.long_path("b/a").as_deref(), Some(".cursor/rules/b/a.mdc"));
        assert_eq!((rules.short_path("w/.cursor/rules/a.mdc"), agents.short_path("AGENTS.md")), (None, None));
    }

    #[test]
    fn a_path_that_leaves_its_root_is_not_clean() {
        for path in ["", "/a", "a//b", "../a", "a/..", "./a", "a\\b", "C:/a", "a\nb", &"a".repeat(513)] {
            assert!(!is_clean_path(path), "{path}");
        }
        assert!(is_clean_path(".a/b..c/d e"));
    }

    #[test]
    fn a_folder_and_its_glob_belong_together() {
        for folder in ["web", "a/b", "app/[slug]", "app/(group)", "a{b}", "ü/*"] {
            assert_eq!(folder_of_glob(&folder_glob(folder)).as_deref(), Some(folder));
        }
        for glob in
            ["**", "web/*", "*/**", "web/**/**", "[ab]/**", "[a]/**", "../**", "/web/**", "!a/**", "[/**"]
        {
            assert_eq!(folder_of_glob(glob), None, "{glob}");
        }
    }
}
