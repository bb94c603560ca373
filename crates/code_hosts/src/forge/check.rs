//! Checks the setting `[[launch.forges]]` and the references of sites to forges, so that a mistake is reported when the program starts and
//! not when a run is published.

use std::collections::HashSet;

use contract::config::{ForgeKind, LOCAL_FORGE, LaunchForge, LaunchSite, SiteLocation};
use contract::{ErrorCode, Fault, echo};
use platform::outbound::{Url, https_or_loopback_url};

use crate::links::server_of;
use crate::names::{is_full_name, is_name, is_path};

/// Longest name of a forge, in bytes.
const NAME_BYTES_MAX: usize = 64;

/// Checks all forges, and that each site can be published where it says.
///
/// # Errors
/// `INVALID_INPUT` for the first forge or site that cannot be used.
pub fn check_forges(forges: &[LaunchForge], sites: &[LaunchSite]) -> Result<(), Fault> {
    let mut names = HashSet::new();
    for forge in forges {
        let problem = problem_of(forge).or_else(|| {
            let is_new = names.insert(forge.name.as_str());
            (!is_new).then(|| "there is another forge of this name".to_owned())
        });
        if let Some(problem) = problem {
            return Err(refused("launch.forges: the forge", &forge.name, &problem));
        }
    }
    for site in sites {
        if let Some(problem) = problem_of_site(site, forges) {
            return Err(refused("launch.sites: the site", &site.name, &problem));
        }
    }
    Ok(())
}

fn refused(what: &str, name: &str, problem: &str) -> Fault {
    Fault::new(ErrorCode::InvalidInput, format!("{what} `{}`: {problem}.", echo(name)))
        .with_hint("Correct the setting; docs/launch.md describes forges.")
}

fn problem_of(forge: &LaunchForge) -> Option<String> {
    let is_local = forge.name == LOCAL_FORGE;
    if !is_name(&forge.name) || forge.name.len() > NAME_BYTES_MAX || is_local {
        return Some(
            "its name must have 1 to 64 letters, digits, `.`, `_` and `-`, and not be `local`".to_owned(),
        );
    }
    let url = match https_or_loopback_url(&forge.api) {
        Ok(url) => url,
        Err(error) => return Some(format!("its api is refused, because {error}")),
    };
    if !url.username().is_empty()
        || url.password().is_some()
        || url.query().is_some()
        || url.fragment().is_some()
    {
        return Some("its api contains more than an address".to_owned());
    }
    if !forge.token_file.is_absolute() {
        return Some("its token_file must be an absolute path".to_owned());
    }
    if forge.owners.is_empty() {
        return Some("it has no owners, so no site could name it".to_owned());
    }
    let is_owner = |owner: &String| match forge.kind {
        ForgeKind::Github => is_name(owner),
        ForgeKind::Gitlab => is_path(owner),
    };
    if let Some(owner) = forge.owners.iter().find(|owner| !is_owner(owner)) {
        return Some(format!(
            "`{}` in owners is not the name of an owner on {}",
            echo(owner),
            forge.kind.as_str()
        ));
    }
    let host = forge.redirect_hosts.iter().find(|host| !is_host(host))?;
    Some(format!("`{}` in redirect_hosts is not a host", echo(host)))
}

/// Returns `true` if a text is a host, with a port if it is not the usual one.
fn is_host(text: &str) -> bool {
    !text.is_empty() && Url::parse(&format!("https://{text}/")).is_ok_and(|url| server_of(&url) == text)
}

fn problem_of_site(site: &LaunchSite, forges: &[LaunchForge]) -> Option<String> {
    if site.forge == LOCAL_FORGE {
        if site.repo.is_some() {
            return Some("`repo` is for sites on a forge, and its forge is local".to_owned());
        }
        let is_address = matches!(site.location(), SiteLocation::Address(_));
        return is_address.then(|| "the forge local needs a repository on this machine".to_owned());
    }
    let Some(forge) = forges.iter().find(|forge| forge.name == site.forge) else {
        return Some(format!("its forge `{}` is neither local nor one of launch.forges", echo(&site.forge)));
    };
    if forge.read_only {
        return Some(format!("its forge `{}` is read_only, so nothing can be published there", forge.name));
    }
    let Some(repo) = &site.repo else {
        return Some(format!("its forge `{}` needs a repo, such as \"acme/site\"", forge.name));
    };
    let is_nested = repo.matches('/').count() > 1;
    if !is_full_name(repo) || (is_nested && forge.kind == ForgeKind::Github) {
        return Some(format!("its repo `{}` is not the name of a repository", echo(repo)));
    }
    let is_allowed = forge.owners.iter().any(|owner| is_below(repo, owner));
    (!is_allowed).then(|| format!("its repo `{}` belongs to none of the owners of its forge", echo(repo)))
}

/// Returns `true` if a repository belongs to an owner or, on GitLab, is in a group. Hosts compare names without case.
fn is_below(repo: &str, owner: &str) -> bool {
    let (repo, owner) = (repo.to_ascii_lowercase(), owner.to_ascii_lowercase());
    repo.strip_prefix(&owner).is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::forge;

    /// A change that breaks a setting, and a part of the refusal.
    type Mistake<T> = (fn(&mut T), &'static str);

    fn site() -> LaunchSite {
        serde_json::from_value(serde_json::json!({
            "name": "docs", "repository": "/srv/git/site.git", "allowed_paths": ["content"], "forge": "hub", "repo": "acme/site",
        }))
        .unwrap()
    }

    fn assert_refused(forge: &LaunchForge, site: &LaunchSite, expected: &str) {
        let fault = check_forges(std::slice::from_ref(forge), std::slice::from_ref(site)).unwrap_err();
        assert_eq!(fault.code, ErrorCode::InvalidInput);
        assert!(fault.message.contains(expected) && fault.hint.is_some(), "{expected}: {fault}");
        assert!(!fault.message.contains("secret"), "{fault}");
    }

    #[test]
    fn forges_that_cannot_be_used_are_refused_at_the_start() {
        let good = forge(ForgeKind::Github);
        assert!(check_forges(&[], &[]).is_ok());
        assert!(check_forges(std::slice::from_ref(&good), &[site()]).is_ok());
        let wrong: [Mistake<LaunchForge>; 12] = [
            (|forge| forge.name.clear(), "its name"),
            (|forge| forge.name = "local".to_owned(), "its name"),
            (|forge| forge.name = "a b".to_owned(), "its name"),
            (|forge| forge.api = "http://forge.example".to_owned(), "its api"),
            (|forge| forge.api = "forge.example".to_owned(), "its api"),
            (|forge| forge.api = "https://ada:secret@forge.example".to_owned(), "its api"),
            (|forge| forge.api = "https://forge.example/?token=secret".to_owned(), "its api"),
            (|forge| forge.token_file = "token".into(), "its token_file"),
            (|forge| forge.owners.clear(), "no owners"),
            (|forge| forge.owners.push("acme/site".to_owned()), "in owners"),
            (|forge| forge.redirect_hosts.push("https://x".to_owned()), "in redirect_hosts"),
            (|forge| forge.read_only = true, "read_only"),
        ];
        for (change, expected) in wrong {
            let mut changed = good.clone();
            change(&mut changed);
            assert_refused(&changed, &site(), expected);
        }
        assert!(check_forges(&[good.clone(), good], &[]).is_err(), "named twice");
        let mut loopback = forge(ForgeKind::Gitlab);
        loopback.api = "http://127.0.0.1:8080/api/v4".to_owned();
        loopback.redirect_hosts = vec!["codeload.github.com".to_owned(), "127.0.0.1:99".to_owned()];
        assert!(check_forges(&[loopback], &[site()]).is_ok());
    }

    #[test]
    fn sites_name_a_forge_and_a_repository_of_its_owners() {
        let wrong: [Mistake<LaunchSite>; 8] = [
            (|site| site.forge = "lab".to_owned(), "its forge `lab`"),
            (|site| site.forge.clear(), "its forge"),
            (|site| site.repo = None, "needs a repo"),
            (|site| site.repo = Some("site".to_owned()), "its repo"),
            (|site| site.repo = Some("acme/docs/site".to_owned()), "its repo"),
            (|site| site.repo = Some("acme-labs/site".to_owned()), "none of the owners"),
            (|site| site.forge = "local".to_owned(), "`repo` is for sites on a forge"),
            (
                |site| {
                    (site.forge, site.repo) = ("local".to_owned(), None);
                    site.repository = "https://forge.example/acme/site".to_owned();
                },
                "on this machine",
            ),
        ];
        for (change, expected) in wrong {
            let mut changed = site();
            change(&mut changed);
            assert_refused(&forge(ForgeKind::Github), &changed, expected);
        }
        let nested = LaunchSite { repo: Some("Acme/docs/site".to_owned()), ..site() };
        assert!(check_forges(&[forge(ForgeKind::Gitlab)], &[nested]).is_ok());
        let local = LaunchSite { forge: "local".to_owned(), repo: None, ..site() };
        assert!(check_forges(&[], &[local]).is_ok());
    }
}
