//! The commit of a site that a run starts from: the head of the base branch, as the forge has it, with its objects on this machine.

use std::sync::Arc;

use code_hosts::forge::not_retryable;
use contract::config::{LaunchSite, SiteLocation};
use contract::{ErrorCode, Fault, RepositoryAddress, echo};
use history::RevisionPatterns;

use super::forges::{forge_of, repo_of};
use super::site::RunSite;
use gate::app::{App, blocking};

/// The commit that a run of this site starts from.
///
/// # Errors
/// `COMMIT_SERVICE_ERROR` if the forge or the repository cannot be read, if there is no such branch, or if the repository on this machine
/// does not have its commit yet.
pub(super) async fn site_head(app: &Arc<App>, profile: &LaunchSite) -> Result<String, Fault> {
    let site = RunSite::new(app, profile);
    let Some(forge) = forge_of(app, profile, || ())? else {
        return blocking(move || site.head()).await;
    };
    let head = forge.head(repo_of(profile), &profile.base).await?.ok_or_else(|| no_base(profile))?;
    match profile.location() {
        SiteLocation::Directory(_) => require_in_clone(site, &head).await?,
        SiteLocation::Address(address) => require_in_mirror(app, site, &address, profile, &head).await?,
    }
    Ok(head)
}

async fn require_in_clone(site: RunSite, head: &str) -> Result<(), Fault> {
    let commit = head.to_owned();
    if blocking(move || site.has(&commit)).await? {
        return Ok(());
    }
    let message = "The site's repository on this machine does not have the head of its base branch yet.";
    Err(Fault::new(ErrorCode::CommitServiceError, message).with_hint(
        "The operator fetches the clone that is `repository` of the site profile, or names its address there.",
    ))
}

/// Fetches the mirror, unless it has the commit.
async fn require_in_mirror(
    app: &App,
    site: RunSite,
    address: &RepositoryAddress,
    profile: &LaunchSite,
    head: &str,
) -> Result<(), Fault> {
    let has_head = async || {
        let (site, commit) = (site.clone(), head.to_owned());
        blocking(move || site.has(&commit)).await
    };
    // A mirror that cannot be read is fetched anew.
    if has_head().await.unwrap_or(false) {
        return Ok(());
    }
    fetch(app, address, &profile.base).await?;
    if has_head().await? {
        return Ok(());
    }
    let message = "The site's repository was fetched without the head of its base branch.";
    Err(Fault::new(ErrorCode::CommitServiceError, message)
        .with_hint("Call again: the branch may have moved. Else check that `repository` and `repo` of the site profile are the same."))
}

async fn fetch(app: &App, address: &RepositoryAddress, base: &str) -> Result<(), Fault> {
    app.disk_space().require(0).await?;
    let patterns = RevisionPatterns::parse(&[base.to_owned()])
        .map_err(|reason| not_retryable(format!("The base of the site cannot be fetched: {reason}")))?;
    // A call that is given up ends the fetch, too.
    let stop = app.shutdown.child_token();
    let _stops = stop.clone().drop_guard();
    let (mirrors, address) = (app.mirrors(), address.clone());
    let fetched = blocking(move || mirrors.fetch(&address, &patterns, &|| stop.is_cancelled())).await;
    fetched.map(drop).map_err(|fault| match fault.code {
        ErrorCode::StorageUnavailable | ErrorCode::Internal | ErrorCode::Cancelled => fault,
        _ => {
            let message = format!("The site's repository could not be fetched: {}", fault.message);
            Fault { code: ErrorCode::CommitServiceError, message, ..fault }
        }
    })
}

fn no_base(profile: &LaunchSite) -> Fault {
    let (repo, base) = (echo(repo_of(profile)), echo(&profile.base));
    not_retryable(format!("The forge has no branch `{base}` in `{repo}`, or does not show it."))
        .with_hint("The operator corrects base and repo of the site profile, or lets the token see the repository: forges hide what is private.")
}
