//! Checks the settings of sources, so that a mistake is reported when the server starts and not at the first listing.

use std::collections::HashSet;

use contract::config::{SourceKind, SourceSettings};
use contract::{ErrorCode, Fault, RepositoryAddress, echo};
use platform::outbound::https_or_loopback_url;

use crate::bitbucket::Bitbucket;
use crate::filter::Filter;
use crate::gitea::Gitea;
use crate::github::Github;
use crate::gitlab::Gitlab;
use crate::host::CodeHost;
use crate::names::{is_name, is_path};
use crate::project::is_template;
use crate::repository::RemoteRepository;
use crate::source::{Api, Origin, Source};

/// Longest name of a source.
const NAME_BYTES_MAX: usize = 64;

/// A problem as the end of a sentence, and what to do about it.
type Problem = (String, &'static str);

/// Checks all entries of the setting: each by itself, and that no name is used twice.
///
/// # Errors
/// `INVALID_INPUT` for the first source that cannot be used.
pub fn check_sources(all: &[SourceSettings]) -> Result<(), Fault> {
    let mut names = HashSet::new();
    for settings in all {
        Source::new(settings)?;
        if !names.insert(settings.name.as_str()) {
            let message = format!("Two sources are named `{}`.", settings.name);
            return Err(Fault::new(ErrorCode::InvalidInput, message)
                .with_hint("Give each entry of sources a name of its own."));
        }
    }
    Ok(())
}

impl Source {
    /// Checks the settings. Sends no request and reads no file.
    ///
    /// # Errors
    /// `INVALID_INPUT` with the source, the setting that cannot be used and a hint.
    pub fn new(settings: &SourceSettings) -> Result<Self, Fault> {
        checked(settings).map_err(|(problem, hint)| {
            let message = format!("The source `{}` cannot be used: {problem}.", echo(&settings.name));
            Fault::new(ErrorCode::InvalidInput, message).with_hint(hint)
        })
    }
}

/// Returns the API of a kind; `None` for a list.
fn host_of(kind: SourceKind) -> Option<&'static dyn CodeHost> {
    match kind {
        SourceKind::Github => Some(&Github),
        SourceKind::Gitlab => Some(&Gitlab),
        SourceKind::Gitea => Some(&Gitea),
        SourceKind::Bitbucket => Some(&Bitbucket),
        SourceKind::List => None,
    }
}

fn checked(settings: &SourceSettings) -> Result<Source, Problem> {
    if !is_source_name(&settings.name) {
        let problem = "its name is not 1 to 64 of a-z, 0-9 and `-`".to_owned();
        return Err((problem, "Give each source a short name that is not used twice."));
    }
    if settings.project.as_deref().is_some_and(|template| !is_template(template)) {
        let problem = "its project is not an id of a project".to_owned();
        return Err((
            problem,
            "Write a-z, 0-9 and single hyphens; {owner} and {repository} stand for the names of each repository.",
        ));
    }
    let origin = match host_of(settings.kind) {
        Some(host) => Origin::Api(api(settings, host)?),
        None => Origin::Settings(listed(settings)?),
    };
    let malformed = |problem| (problem, "Correct the globs in include and exclude, such as \"acme/*\".");
    let filter = Filter::new(settings).map_err(malformed)?;
    Ok(Source { settings: settings.clone(), origin, filter })
}

/// Returns `true` if a text is a name that commands accept, and cannot mistake for an option.
fn is_source_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=NAME_BYTES_MAX).contains(&text.len()) && !text.starts_with('-') && text.bytes().all(is_plain)
}

fn api(settings: &SourceSettings, host: &'static dyn CodeHost) -> Result<Api, Problem> {
    let kind = settings.kind.as_str();
    if !settings.repositories.is_empty() {
        let problem = format!("`repositories` is for the kind list, and its kind is {kind}");
        return Err((
            problem,
            "Name organisations or users in owners, or make it a source of the kind list.",
        ));
    }
    if settings.owners.is_empty() {
        return Err((
            "it has no owners".to_owned(),
            "Name organisations, users, groups or workspaces in owners.",
        ));
    }
    let is_owner = |owner: &str| if host.has_subgroups() { is_path(owner) } else { is_name(owner) };
    if let Some(owner) = settings.owners.iter().find(|owner| !is_owner(owner)) {
        let problem = format!("`{}` in owners is not the name of an owner on {kind}", echo(owner));
        return Err((
            problem,
            "Write names as in the addresses of their pages; only groups of GitLab have a slash.",
        ));
    }
    if !host.has_topics() && !settings.topics.is_empty() {
        return Err((format!("repositories on {kind} have no topics"), "Remove topics."));
    }
    let Some(text) = settings.url.as_deref().or(host.public_url()) else {
        let problem = format!("it has no url, and {kind} has no public host");
        return Err((problem, "Set url to the address of your host."));
    };
    let hint = "Set url to the https address of the host's API, without user, password, query and fragment.";
    let url = https_or_loopback_url(text)
        .map_err(|error| (format!("its url is refused, because {error}"), hint))?;
    let has_more = !url.username().is_empty() || url.password().is_some();
    if has_more || url.query().is_some() || url.fragment().is_some() {
        return Err(("its url contains more than an address".to_owned(), hint));
    }
    Ok(Api { host, root: host.root(url) })
}

/// Returns the repositories of a list, with their addresses as they are.
fn listed(settings: &SourceSettings) -> Result<Vec<RemoteRepository>, Problem> {
    let others = [
        ("url", settings.url.is_some()),
        ("owners", !settings.owners.is_empty()),
        ("topics", !settings.topics.is_empty()),
        ("token_file", settings.token_file.is_some()),
        ("forks", settings.forks),
        ("archived", settings.archived),
    ];
    if let Some((setting, _)) = others.into_iter().find(|(_, is_set)| *is_set) {
        let problem = format!("`{setting}` is for sources with an API, and its kind is list");
        return Err((problem, "Remove it, or name the kind of the API."));
    }
    if settings.repositories.is_empty() {
        return Err(("it has no repositories".to_owned(), "List their addresses in repositories."));
    }
    settings.repositories.iter().map(|text| listed_repository(text)).collect()
}

fn listed_repository(text: &str) -> Result<RemoteRepository, Problem> {
    let hint = "Write addresses such as \"https://git.example/acme/shop.git\", without user and password.";
    let refused = |problem: &str| (format!("`{}` in repositories: {problem}", echo(text)), hint);
    let address = match RepositoryAddress::parse(text) {
        Some(Ok(address)) => address,
        Some(Err(problem)) => return Err(refused(problem.trim_end_matches('.'))),
        None => return Err(refused("it is not an address")),
    };
    Ok(RemoteRepository {
        full_name: address.path().trim_start_matches('/').to_owned(),
        clone_url: text.to_owned(),
        is_fork: false,
        is_archived: false,
        topics: Vec::new(),
        pushed_at: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::settings;

    fn list(addresses: &[&str]) -> SourceSettings {
        let repositories = addresses.iter().map(|&address| address.to_owned()).collect();
        SourceSettings { owners: Vec::new(), repositories, ..settings("list") }
    }

    /// Checks that the settings are refused with this problem.
    fn assert_refused(settings: &SourceSettings, expected: &str) {
        let fault = Source::new(settings).unwrap_err();
        assert_eq!(fault.code, ErrorCode::InvalidInput);
        assert!(fault.message.contains(expected) && fault.hint.is_some(), "{expected}: {fault}");
        assert!(!fault.message.contains("secret"), "{fault}");
    }

    #[test]
    fn each_kind_has_its_address() {
        for (kind, url, expected) in [
            ("github", None, "https://api.github.com/"),
            ("gitlab", None, "https://gitlab.com/api/v4"),
            ("bitbucket", None, "https://api.bitbucket.org/2.0"),
            ("gitea", Some("https://codeberg.org"), "https://codeberg.org/api/v1"),
            ("gitea", Some("http://localhost:3000/"), "http://localhost:3000/api/v1"),
        ] {
            let settings = SourceSettings { url: url.map(str::to_owned), ..settings(kind) };
            let source = Source::new(&settings).unwrap();
            let Origin::Api(api) = &source.origin else { panic!("{kind}") };
            assert_eq!(api.root.as_str(), expected);
            assert_eq!((source.name(), source.kind().as_str(), source.token_file()), ("acme", kind, None));
        }
    }

    #[test]
    fn settings_that_cannot_be_used_are_refused() {
        let github = || settings("github");
        let with_url = |url: &str| SourceSettings { url: Some(url.to_owned()), ..github() };
        let with_owner =
            |kind: &str, owner: &str| SourceSettings { owners: vec![owner.to_owned()], ..settings(kind) };
        for name in ["", "-x", "..", "a/b", "a b", "Acme", "a_b", &"x".repeat(65)] {
            assert_refused(&SourceSettings { name: name.to_owned(), ..github() }, "its name");
        }
        assert_refused(&SourceSettings { owners: Vec::new(), ..github() }, "no owners");
        for (kind, owner) in [
            ("github", "acme/platform"),
            ("github", ""),
            ("github", ".."),
            ("github", "a?b"),
            ("gitlab", "acme//x"),
            ("gitlab", "/acme"),
            ("gitlab", "-acme/x"),
        ] {
            assert_refused(&with_owner(kind, owner), "in owners");
        }
        assert!(Source::new(&with_owner("gitlab", "acme/platform")).is_ok());
        for url in [
            "http://git.example",
            "git.example",
            "ftp://git.example",
            "https://user:secret@git.example",
            "https://git.example?token=secret",
            "https://git.example#x",
        ] {
            assert_refused(&with_url(url), "its url");
        }
        assert_refused(&settings("gitea"), "no url");
        let with_topics = |kind: &str| SourceSettings { topics: vec!["rust".into()], ..settings(kind) };
        assert_refused(&with_topics("bitbucket"), "no topics");
        assert_refused(
            &SourceSettings { repositories: vec!["https://h/a".into()], ..github() },
            "`repositories`",
        );
        assert_refused(&SourceSettings { include: vec!["a/[".into()], ..github() }, "`a/[`");
        for project in ["", "Acme", "{group}", "{owner}_x"] {
            assert_refused(&SourceSettings { project: Some(project.to_owned()), ..github() }, "its project");
        }
        assert!(Source::new(&SourceSettings { project: Some("x-{owner}".into()), ..github() }).is_ok());
    }

    #[test]
    fn each_source_has_a_name_of_its_own() {
        let named = |name: &str| SourceSettings { name: name.to_owned(), ..settings("github") };
        assert!(check_sources(&[]).is_ok() && check_sources(&[named("a"), named("b-2")]).is_ok());
        let fault = check_sources(&[named("a"), named("b"), named("a")]).unwrap_err();
        assert!(fault.message.contains("`a`") && fault.hint.is_some(), "{fault}");
        assert!(check_sources(&[named("a"), named("B")]).is_err());
    }

    #[test]
    fn listed_addresses_stay_as_they_are() {
        let both = list(&["https://Git.Example/acme/shop.git", "git@git.example:acme/api.git"]);
        let source = Source::new(&both).unwrap();
        let Origin::Settings(repositories) = &source.origin else { panic!("{source:?}") };
        let found: Vec<(&str, &str)> =
            repositories.iter().map(|it| (it.full_name.as_str(), it.clone_url.as_str())).collect();
        assert_eq!(
            found,
            [
                ("acme/shop", "https://Git.Example/acme/shop.git"),
                ("acme/api", "git@git.example:acme/api.git")
            ]
        );
        assert_refused(&list(&[]), "no repositories");
        for bad in ["acme/shop", "https://git.example", "https://git.example/a/../b", "https://-x/a"] {
            assert_refused(&list(&[bad]), "in repositories");
        }
        assert_refused(&settings("list"), "`owners`");
        let with_url = SourceSettings { url: Some("https://git.example".into()), ..list(&["https://h/a"]) };
        assert_refused(&with_url, "`url`");
    }
}
