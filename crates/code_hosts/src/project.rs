//! The project that gets a repository, by the setting `project` of its source.

use contract::{PROJECT_ID_CHARS_MAX, ProjectId};

/// The placeholder for the name of the owner, with groups between hyphens.
const OWNER: &str = "{owner}";
/// The placeholder for the name of the repository.
const REPOSITORY: &str = "{repository}";
/// Digits of the hash at the end of an id that would be too long.
const HASH_DIGITS: usize = 8;

/// Returns `true` if project ids can be made from a template.
pub(crate) fn is_template(template: &str) -> bool {
    ProjectId::parse(&filled(template, "x", "x")).is_ok()
}

/// Returns the project of the repository `full_name`; without a template the default workspace. `None` if its names have no letter and no
/// digit that an id could have.
pub(crate) fn project_of(template: Option<&str>, full_name: &str) -> Option<ProjectId> {
    let Some(template) = template else { return Some(ProjectId::default_workspace()) };
    let (owner, name) = full_name.rsplit_once('/').unwrap_or(("", full_name));
    let name = name.strip_suffix(".git").unwrap_or(name);
    let text = filled(template, &id_part(owner), &id_part(name));
    ProjectId::parse(&shortened(text)).ok()
}

fn filled(template: &str, owner: &str, repository: &str) -> String {
    template.replace(OWNER, owner).replace(REPOSITORY, repository)
}

/// Returns a name with those characters that ids have; others become hyphens.
fn id_part(name: &str) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' };
    let text: String = name.chars().map(plain).collect();
    let parts: Vec<&str> = text.split('-').filter(|part| !part.is_empty()).collect();
    parts.join("-")
}

/// Shortens a text to the length of an id. The rest becomes a hash, so that long names stay different.
fn shortened(text: String) -> String {
    if text.len() <= PROJECT_ID_CHARS_MAX {
        return text;
    }
    let hash = blake3::hash(text.as_bytes()).to_hex();
    let start: String = text.chars().take(PROJECT_ID_CHARS_MAX - HASH_DIGITS - 1).collect();
    format!("{}-{}", start.trim_end_matches('-'), &hash[..HASH_DIGITS])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(template: &str, full_name: &str) -> Option<String> {
        project_of(Some(template), full_name).map(|id| id.as_str().to_owned())
    }

    #[test]
    fn names_become_ids() {
        assert_eq!(project_of(None, "acme/shop"), Some(ProjectId::default_workspace()));
        for (template, full_name, expected) in [
            ("team", "acme/shop", "team"),
            ("{owner}", "Acme_Inc/shop", "acme-inc"),
            ("{owner}", "acme/web/site", "acme-web"),
            ("{repository}", "acme/Shop.js", "shop-js"),
            ("{repository}", "srv/git/shop.git", "shop"),
            ("x-{owner}-{repository}", "acme/-.github-", "x-acme-github"),
        ] {
            assert_eq!(project(template, full_name).as_deref(), Some(expected), "{template} {full_name}");
        }
        assert_eq!(project("{repository}", "acme/___"), None);
        assert_eq!(project("{owner}", "shop"), None, "an address without an owner");
    }

    #[test]
    fn long_names_stay_different() {
        let long = |end: &str| project("{owner}-{repository}", &format!("acme/{}{end}", "long-".repeat(30)));
        let (one, other) = (long("one").unwrap(), long("other").unwrap());
        assert!(one.len() <= PROJECT_ID_CHARS_MAX && one.starts_with("acme-long-"), "{one}");
        assert_ne!(one, other);
        assert_eq!(long("one"), Some(one), "the same name has the same id");
    }

    #[test]
    fn templates_are_ids_with_placeholders() {
        for good in ["team", "{owner}", "{repository}", "a-{owner}-{repository}"] {
            assert!(is_template(good), "{good}");
        }
        for bad in ["", "Team", "{group}", "-{owner}", "{owner}_x", "a b", "{owner", &"x".repeat(51)] {
            assert!(!is_template(bad), "{bad}");
        }
    }
}
