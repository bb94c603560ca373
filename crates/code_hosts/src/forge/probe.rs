//! Checks whether a forge can be used: it answers, accepts the token, and lets it write to the repositories of sites. Changes nothing.

use contract::Fault;
use contract::config::ForgeKind;
use platform::outbound::{Answer, Url};
use serde::{Deserialize, Serialize};

use super::Forge;
use super::client::{CallError, REPLACE_TOKEN, Session};
use super::faults::not_retryable;

/// The access level of GitLab that may push: a developer.
const PUSH_LEVEL: i64 = 30;
/// Maximum number of scopes that are reported.
const SCOPES_MAX: usize = 50;

/// The usability of a forge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ForgeReport {
    /// Its name in the settings.
    pub name: String,
    /// Its kind.
    pub kind: &'static str,
    /// The address of its API.
    pub api: String,
    /// `true` if it answers.
    pub reachable: bool,
    /// `true` if it accepts the token.
    pub token_accepted: bool,
    /// The scopes of the token, as far as the forge reports them: fine-grained tokens of GitHub have none.
    pub scopes: Vec<String>,
    /// `true` if the settings forbid publishing there.
    pub read_only: bool,
    /// The repositories of the sites that name it.
    pub repositories: Vec<RepositoryReport>,
    /// The reason why it cannot be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The remedy for the operator; may contain paths of this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// The usability of a repository on a forge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RepositoryReport {
    /// Its name.
    pub repo: String,
    /// `true` if the token may write to it.
    pub may_push: bool,
    /// The reason why it may not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl ForgeReport {
    /// Returns `true` if runs can be published there.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        self.problem.is_none() && self.repositories.iter().all(|repository| repository.may_push)
    }

    fn with_problem(self, fault: Fault) -> Self {
        Self { problem: Some(fault.message), hint: fault.local_hint.or(fault.hint), ..self }
    }
}

/// GitLab's answer about the token.
#[derive(Deserialize)]
struct OwnToken {
    #[serde(default)]
    scopes: Vec<String>,
    #[serde(default)]
    active: Option<bool>,
}

/// GitHub's answer about a repository.
#[derive(Deserialize)]
struct GithubRepository {
    permissions: Option<GithubPermissions>,
}

#[derive(Deserialize)]
struct GithubPermissions {
    #[serde(default)]
    push: bool,
}

/// GitLab's answer about a project.
#[derive(Deserialize)]
struct GitlabProject {
    permissions: Option<GitlabPermissions>,
}

#[derive(Deserialize)]
struct GitlabPermissions {
    project_access: Option<GitlabAccess>,
    group_access: Option<GitlabAccess>,
}

#[derive(Deserialize)]
struct GitlabAccess {
    access_level: i64,
}

/// Asks a forge about its token and these repositories.
pub(super) async fn probe(forge: &Forge, repos: &[&str]) -> ForgeReport {
    let settings = &forge.settings;
    let mut report = ForgeReport {
        name: settings.name.clone(),
        kind: settings.kind.as_str(),
        api: settings.api.clone(),
        reachable: false,
        token_accepted: false,
        scopes: Vec::new(),
        read_only: settings.read_only,
        repositories: Vec::new(),
        problem: None,
        hint: None,
    };
    let session = match Session::open(forge, None).await {
        Ok(session) => session,
        Err(fault) => return report.with_problem(fault),
    };
    if let Err(error) = ask_about_token(&session, settings.kind, &mut report).await {
        return report.with_problem(error.into_fault());
    }
    report.token_accepted = true;
    for &repo in repos {
        let (may_push, problem) = match may_push(&session, settings.kind, repo).await {
            Ok(true) => (true, None),
            Ok(false) => (false, Some("the token may not write to it".to_owned())),
            Err(error) => (false, Some(error.into_fault().message)),
        };
        report.repositories.push(RepositoryReport { repo: repo.to_owned(), may_push, problem });
    }
    report
}

/// Asks about the token, and notes the forge's answer.
async fn ask_about_token(
    session: &Session<'_>,
    kind: ForgeKind,
    report: &mut ForgeReport,
) -> Result<(), CallError> {
    let url = match kind {
        ForgeKind::Github => session.url(&["rate_limit"], &[]),
        ForgeKind::Gitlab => session.url(&["personal_access_tokens", "self"], &[]),
    };
    let answer = session.ask(&url).await?;
    report.reachable = true;
    let answer = session.accepted(&url, answer)?;
    report.scopes = match kind {
        ForgeKind::Github => scopes_of_header(&answer),
        ForgeKind::Gitlab => scopes_of_token(session, &url, &answer)?,
    };
    report.scopes.retain(|scope| !session.may_have_token(scope));
    report.scopes.truncate(SCOPES_MAX);
    Ok(())
}

/// Returns the scopes that GitHub names in a header.
fn scopes_of_header(answer: &Answer) -> Vec<String> {
    let names = answer.header("x-oauth-scopes").unwrap_or_default().split(',').map(str::trim);
    names.filter(|name| !name.is_empty()).map(contract::echo).collect()
}

fn scopes_of_token(session: &Session<'_>, url: &Url, answer: &Answer) -> Result<Vec<String>, CallError> {
    let token: OwnToken = session.read(url, answer)?;
    if token.active == Some(false) {
        return Err(not_retryable("The token is not active any more.").with_hint(REPLACE_TOKEN).into());
    }
    Ok(token.scopes.iter().map(|scope| contract::echo(scope)).collect())
}

/// Checks whether the token may write to a repository.
async fn may_push(session: &Session<'_>, kind: ForgeKind, repo: &str) -> Result<bool, CallError> {
    match kind {
        ForgeKind::Github => {
            let segments: Vec<&str> = ["repos"].into_iter().chain(repo.split('/')).collect();
            let url = session.url(&segments, &[]);
            let answer = session.accepted(&url, session.ask(&url).await?)?;
            let found: GithubRepository = session.read(&url, &answer)?;
            Ok(found.permissions.is_some_and(|permissions| permissions.push))
        }
        ForgeKind::Gitlab => {
            let url = session.url(&["projects", repo], &[]);
            let answer = session.accepted(&url, session.ask(&url).await?)?;
            let found: GitlabProject = session.read(&url, &answer)?;
            let levels = found.permissions.map(|both| [both.project_access, both.group_access]);
            let mut levels = levels.into_iter().flatten().flatten();
            Ok(levels.any(|access| access.access_level >= PUSH_LEVEL))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::answer;

    #[test]
    fn scopes_are_read_from_the_header() {
        let scopes = scopes_of_header(&answer(200, &[("x-oauth-scopes", "repo, read:org")], "{}"));
        assert_eq!(scopes, ["repo", "read:org"]);
        assert!(scopes_of_header(&answer(200, &[], "{}")).is_empty(), "a token with single permissions");
    }
}
