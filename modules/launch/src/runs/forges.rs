//! The forges of site profiles: creates them from the settings, checks that they can be used, and publishes runs on them.

use std::sync::Arc;
use std::time::Duration;

use code_hosts::forge::{FileChange, Forge, ForgeReport, OnCall, Publication, RootEntry, not_retryable};
use contract::clock::iso_seconds;
use contract::config::{LOCAL_FORGE, LaunchForge, LaunchSite};
use contract::{ErrorCode, Fault, echo};
use launch::report::ValidationReport;

use super::run_job::RunJob;
use super::site::{AUTHOR, Published, PublishedContent, Publishing, PullRequest, RunSite};
use gate::app::{App, blocking};

/// Maximum number of paths that the text of a pull request lists.
const LISTED_MAX: usize = 200;
/// Length of such a text, in bytes, from which on no more paths are listed: forges take 65,536 characters.
const LISTED_BYTES_MAX: usize = 50_000;

/// Returns the forge of a site; `None` for the one on this machine. `on_call` is notified of each call.
///
/// # Errors
/// `COMMIT_SERVICE_ERROR` if the settings have no such forge, which the start of the program refuses; `INTERNAL`.
pub(super) fn forge_of(
    app: &Arc<App>,
    profile: &LaunchSite,
    on_call: impl Fn() + Send + Sync + 'static,
) -> Result<Option<Forge>, Fault> {
    if profile.forge == LOCAL_FORGE {
        return Ok(None);
    }
    let settings = app.config.launch.forges.iter().find(|forge| forge.name == profile.forge);
    let settings =
        settings.ok_or_else(|| not_retryable(format!("There is no forge `{}`.", echo(&profile.forge))))?;
    forge(app, settings, on_call).map(Some)
}

fn forge(
    app: &Arc<App>,
    settings: &LaunchForge,
    on_call: impl Fn() + Send + Sync + 'static,
) -> Result<Forge, Fault> {
    let (counting, kind) = (Arc::clone(app), settings.kind.as_str());
    let count: OnCall = Arc::new(move |status| {
        counting.metrics.record_forge_call(kind, status);
        on_call();
    });
    let call_time = Duration::from_millis(app.config.launch.forge_ms);
    Forge::new(settings, call_time, Arc::clone(&app.clock), count)
}

/// The repository of a site on its forge.
pub(super) fn repo_of(profile: &LaunchSite) -> &str {
    profile.repo.as_deref().unwrap_or_default()
}

/// Asks each forge of the settings whether runs can be published there.
///
/// # Errors
/// `INTERNAL` if no client can be set up.
pub async fn probe_forges(app: &Arc<App>) -> Result<Vec<ForgeReport>, Fault> {
    let settings = &app.config.launch;
    let mut reports = Vec::new();
    for listed in &settings.forges {
        let sites = settings.sites.iter().filter(|site| site.forge == listed.name);
        let mut repos: Vec<&str> = sites.map(repo_of).collect();
        repos.sort_unstable();
        repos.dedup();
        reports.push(forge(app, listed, || ())?.probe(&repos).await);
    }
    Ok(reports)
}

impl RunJob<'_> {
    /// Publishes a run on a forge, and finds what an interrupted attempt left there. It stops if the job has to.
    pub(super) async fn publish_on(
        &self,
        forge: &Forge,
        profile: &LaunchSite,
        run: &Publishing,
        report: Option<&ValidationReport>,
    ) -> Result<Published, Fault> {
        let (site, to_read) = (RunSite::new(self.app, profile), run.clone());
        let PublishedContent { base_tree, files, root } = blocking(move || site.content(&to_read)).await?;
        if files.is_empty() {
            return Err(not_retryable("The run changes nothing of the site, so there is nothing to review.")
                .with_hint("Cancel this run."));
        }
        let paths: Vec<String> = files.iter().map(|file| file.path.clone()).collect();
        let files: Vec<FileChange> = files
            .into_iter()
            .map(|file| FileChange {
                path: file.path,
                id: file.id,
                is_executable: file.is_executable,
                is_new: file.is_new,
                content: file.content,
            })
            .collect();
        let root: Vec<RootEntry> = root
            .into_iter()
            .map(|entry| RootEntry { name: entry.name, mode: entry.mode, id: entry.id })
            .collect();
        let config = self.journal.config();
        let publication = Publication {
            repo: repo_of(profile),
            base: &profile.base,
            base_commit: &run.site_sha,
            base_tree: &base_tree,
            branch: &run.branch,
            tree: &run.site_tree,
            root: &root,
            files: &files,
            author: AUTHOR,
            time: &iso_seconds(run.time_s),
            message: &run.message,
            title: &format!("Document {}", config.product_name),
            body: &review_text(&config.product_name, self.journal.run_id(), &paths, report),
            key: &run.key,
        };
        let published = tokio::select! {
            biased;
            () = self.running.cancel.cancelled() => {
                return Err(Fault::new(ErrorCode::Cancelled, "The launch run was stopped."));
            }
            published = forge.publish(&publication) => published?,
        };
        let pull = PullRequest { url: published.url, number: published.number };
        Ok(Published { commit: published.commit, paths, pull: Some(pull) })
    }
}

/// Returns the text of a pull request: the changes, and the results of the gates. Text of other authors is included as code, so that it
/// neither links nor mentions users.
fn review_text(product: &str, run_id: &str, paths: &[String], report: Option<&ValidationReport>) -> String {
    let code = |text: &str| format!("`{}`", text.replace('`', "'"));
    let mut text = format!(
        "Pages about {}. Every statement is tied to lines of the repository at one commit.\n\n{}\n\n## Pages\n\n",
        code(product),
        code(&format!("Launch-Run: {run_id}"))
    );
    for (count, path) in paths.iter().enumerate() {
        if count == LISTED_MAX || text.len() > LISTED_BYTES_MAX {
            text.push_str(&format!("- and {} more\n", paths.len() - count));
            break;
        }
        text.push_str(&format!("- {}\n", code(path)));
    }
    text.push_str("\n## Validation\n\n");
    for gate in report.into_iter().flat_map(|report| &report.gates) {
        text.push_str(&format!("- {}: {}\n", code(&gate.gate), gate.status.as_str()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_others_stand_in_a_review_as_code() {
        let paths = ["content/docs/a.md".to_owned(), "content/docs/`@ada`.md".to_owned()];
        let text = review_text("Shop @ada `x`", "r_1", &paths, None);
        assert!(
            text.contains("Pages about `Shop @ada 'x'`.") && text.contains("`Launch-Run: r_1`"),
            "{text}"
        );
        assert!(text.contains("- `content/docs/a.md`\n- `content/docs/'@ada'.md`\n"), "{text}");
    }

    #[test]
    fn many_pages_are_counted_and_not_listed() {
        let text = |paths: &[String]| review_text("Shop", "r_1", paths, None);
        let short = text(&vec!["a.md".to_owned(); LISTED_MAX + 7]);
        assert_eq!((short.matches("`a.md`").count(), short.contains("- and 7 more\n")), (LISTED_MAX, true));
        let long = text(&vec!["x".repeat(4000); 100]);
        assert!(long.len() < 65_536 && long.contains(" more\n"), "{}", long.len());
    }
}
