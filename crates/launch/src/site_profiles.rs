//! The operator's sites: checked when the program starts, and found by the name that a run gives.

use std::collections::BTreeSet;

use contract::config::{LaunchSite, SiteLocation};
use contract::{ErrorCode, Fault, ProjectId, RepositoryAddress, echo};
use serde_json::json;

use crate::allowed_paths::AllowedPaths;
use crate::site_checks;

/// Longest name of a site.
const NAME_CHARS_MAX: usize = 64;
/// Longest name of a branch, in bytes.
const BRANCH_BYTES_MAX: usize = 200;

/// Checks the setting `[[launch.sites]]`.
///
/// # Errors
/// `INVALID_INPUT` with the first site that cannot be used, and the reason.
pub fn check_sites(sites: &[LaunchSite]) -> Result<(), Fault> {
    let mut names = BTreeSet::new();
    for site in sites {
        let problem = problem_of(site).or_else(|| {
            let is_new = names.insert((site.project.as_deref(), site.name.as_str()));
            (!is_new).then(|| "there is another site of this name in its project".to_owned())
        });
        if let Some(problem) = problem {
            let message = format!("launch.sites: the site `{}`: {problem}.", echo(&site.name));
            return Err(Fault::new(ErrorCode::InvalidInput, message)
                .with_hint("Correct the setting; docs/launch.md describes sites."));
        }
    }
    Ok(())
}

fn problem_of(site: &LaunchSite) -> Option<String> {
    let is_name = |name: &str| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        !name.is_empty() && name.len() <= NAME_CHARS_MAX && name.bytes().all(is_plain)
    };
    if !is_name(&site.name) {
        return Some("its name must have 1 to 64 letters, digits, `.`, `_` and `-`".to_owned());
    }
    if let Some(project) = &site.project
        && let Err(error) = ProjectId::parse(project)
    {
        return Some(format!("its project is malformed: {}", error.constraint));
    }
    if let Some(Err(problem)) = RepositoryAddress::parse(&site.repository) {
        let problem = problem.trim_end_matches('.').to_owned();
        return Some(format!("its repository cannot be used: {problem}"));
    }
    if let SiteLocation::Directory(path) = site.location()
        && !path.is_absolute()
    {
        return Some("its repository must be an absolute path or an address".to_owned());
    }
    if !is_branch_name(&site.base) {
        return Some("its base is not the name of a branch".to_owned());
    }
    if site.allowed_paths.is_empty() {
        return Some("its allowed_paths are empty, so a run could change nothing".to_owned());
    }
    if let Some(problem) = site_checks::problem_of(site) {
        return Some(problem);
    }
    let (path, problem) = AllowedPaths::new(&site.allowed_paths).err()?;
    Some(format!("the allowed path `{}` {problem}", echo(&path)))
}

/// Returns `true` if a text can be the name of a branch: git's rules, and no characters beyond letters, digits, `.`, `_`, `-` and `/`.
#[must_use]
pub fn is_branch_name(name: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty()
            && !part.starts_with(['.', '-'])
            && !part.ends_with(".lock")
            && !part.ends_with('.')
            && !part.contains("..")
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
    };
    name.len() <= BRANCH_BYTES_MAX && name.split('/').all(is_part)
}

/// Returns the site that runs of a project know by this name.
///
/// # Errors
/// `INVALID_INPUT` with the names of the project's sites.
pub fn find_site<'a>(
    sites: &'a [LaunchSite],
    project: &ProjectId,
    name: &str,
) -> Result<&'a LaunchSite, Fault> {
    let own = || sites.iter().filter(|site| site.belongs_to(project.public()));
    own().find(|site| site.name == name).ok_or_else(|| {
        let names: Vec<&str> = own().map(|site| site.name.as_str()).collect();
        let hint = match names.is_empty() {
            true => "The operator lists the sites of a project as [[launch.sites]] in the configuration.",
            false => "Name one of `available_profiles`.",
        };
        Fault::new(ErrorCode::InvalidInput, format!("The project has no site profile `{}`.", echo(name)))
            .with_details(json!({ "field": "site_profile", "available_profiles": names }))
            .with_hint(hint)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::config::LOCAL_FORGE;

    fn site(name: &str, project: Option<&str>) -> LaunchSite {
        LaunchSite {
            name: name.to_owned(),
            project: project.map(str::to_owned),
            repository: "/srv/git/site.git".into(),
            base: "main".to_owned(),
            allowed_paths: vec!["content/docs".to_owned()],
            forge: LOCAL_FORGE.to_owned(),
            repo: None,
            checks: Vec::new(),
            external_hosts: Vec::new(),
            watch: false,
        }
    }

    #[test]
    fn sites_that_cannot_be_used_are_refused_at_the_start() {
        assert!(check_sites(&[]).is_ok());
        assert!(check_sites(&[site("docs", None), site("docs", Some("shop")), site("kb", None)]).is_ok());
        let wrong: [fn(&mut LaunchSite); 8] = [
            |site| site.name = "a b".to_owned(),
            |site| site.name.clear(),
            |site| site.project = Some("Shop".to_owned()),
            |site| site.repository = "site.git".to_owned(),
            |site| site.repository = "https://ada:secret@git.example/site".to_owned(),
            |site| site.base = "../main".to_owned(),
            |site| site.allowed_paths.clear(),
            |site| site.allowed_paths.push("../up".to_owned()),
        ];
        for (number, change) in wrong.into_iter().enumerate() {
            let mut changed = site("docs", None);
            change(&mut changed);
            let fault = check_sites(&[changed]).unwrap_err();
            assert_eq!(fault.code, ErrorCode::InvalidInput, "change {number}");
        }
        assert!(check_sites(&[site("docs", None), site("docs", None)]).is_err(), "named twice");
    }

    #[test]
    fn a_project_finds_only_its_own_sites() {
        let sites = [site("docs", None), site("kb", Some("shop"))];
        let shop = ProjectId::parse("shop").unwrap();
        assert_eq!(find_site(&sites, &shop, "kb").unwrap().name, "kb");
        let fault = find_site(&sites, &shop, "docs").unwrap_err();
        assert_eq!(fault.details.unwrap()["available_profiles"], json!(["kb"]));
        assert_eq!(find_site(&sites, &ProjectId::default_workspace(), "docs").unwrap().name, "docs");
    }

    #[test]
    fn branches_have_the_names_that_git_allows() {
        for good in ["main", "launch/r_2026-01-21T13-00-00Z_0123abcd/shop", "release-1.2", "a_b"] {
            assert!(is_branch_name(good), "{good}");
        }
        for bad in ["", "/", "a//b", "-x", ".x", "a/.b", "x.lock", "a..b", "a b", "a:b", "x.", "ä", "a/"] {
            assert!(!is_branch_name(bad), "{bad:?}");
        }
    }
}
