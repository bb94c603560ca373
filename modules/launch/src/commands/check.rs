//! `launch check`: checks a documentation site against the index of its repository, without a run. Read-only.

use std::path::{Path, PathBuf};

use launch::coverage::Coverage;
use launch::report::{Profile, ValidationReport, stable_json};
use launch::sarif::to_sarif;
use serde::Serialize;

use super::check_text;
use crate::runs::{CheckedSite, SiteCheck, check_site};
use contract::{ErrorCode, Fault, ProjectId, TOOLING_VERSION, escaped_line};
use surfaces::cli::shell::{
    CommandError, CommandResult, Exit, Session, cancellable, parse_project_id, repository,
};

/// Arguments of `launch check`.
#[derive(Debug, clap::Args)]
pub(super) struct CheckArgs {
    /// Folder of the documentation site
    site: PathBuf,
    /// Repository that the site documents: its folder, its address or its name [default: the indexed one that contains the site]
    #[arg(long, value_name = "REPO", value_parser = repository)]
    repo: Option<String>,
    /// Project ID [default: the default workspace]
    #[arg(long, value_name = "ID", default_value = "default", hide_default_value = true, value_parser = parse_project_id)]
    project: ProjectId,
    /// How strict to be: local skips what cannot be checked, ci fails then, prod fails on warnings too
    #[arg(long, value_enum, default_value = "local")]
    profile: ProfileArg,
    /// Also list public definitions that no page mentions, and print how much is documented
    #[arg(long)]
    coverage: bool,
    /// Also write the issues as SARIF into a file
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,
    /// Also write the figure of the coverage for a badge into a file, as shields.io reads it
    #[arg(long, value_name = "FILE", requires = "coverage")]
    badge: Option<PathBuf>,
    /// Print notes too, not only what is wrong
    #[arg(long)]
    all: bool,
}

/// The profiles, as arguments.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum ProfileArg {
    Local,
    Ci,
    Prod,
}

impl From<ProfileArg> for Profile {
    fn from(profile: ProfileArg) -> Self {
        match profile {
            ProfileArg::Local => Self::Local,
            ProfileArg::Ci => Self::Ci,
            ProfileArg::Prod => Self::Prod,
        }
    }
}

/// The result that `--json` prints.
#[derive(Serialize)]
struct CheckResult<'a> {
    validation_report: &'a ValidationReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    coverage: Option<&'a Coverage>,
    pages: usize,
    /// Documents in unsupported formats, which were not read.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    unread: &'a [String],
    repository: Option<&'a str>,
    revision: Option<&'a str>,
}

/// Entry point of `launch check`. Exits with 1 if a gate failed.
pub(super) async fn run_check(session: &Session, args: CheckArgs) -> CommandResult {
    let request = SiteCheck {
        site: args.site,
        project: args.project,
        repository: args.repo,
        profile: args.profile.into(),
        coverage: args.coverage,
    };
    let checked = cancellable(session, async |cancel, on_step| {
        check_site(&session.app, request, cancel, on_step).await
    })
    .await
    .map_err(|fault| match fault.code {
        ErrorCode::InvalidRequest => CommandError::not_run(fault),
        _ => fault.into(),
    })?;
    write_files(&checked, args.sarif.as_deref(), args.badge.as_deref())?;
    let result = CheckResult {
        validation_report: &checked.report,
        coverage: checked.coverage.as_ref(),
        pages: checked.pages,
        unread: &checked.unread,
        repository: checked.repository.as_deref(),
        revision: checked.revision.as_deref(),
    };
    session.print_result(&result, &check_text::render(&checked, args.all));
    Ok(if checked.report.ok { Exit::Ok } else { Exit::Failed })
}

/// Writes the requested files.
fn write_files(checked: &CheckedSite, sarif: Option<&Path>, badge: Option<&Path>) -> Result<(), Fault> {
    if let Some(file) = sarif {
        let undocumented = checked.coverage.as_ref().map(Coverage::issues).unwrap_or_default();
        // Places of definitions are relative to the repository, those of issues to the site.
        let mut log = to_sarif(&checked.report.issues, checked.base.as_deref(), TOOLING_VERSION);
        let more = to_sarif(&undocumented, None, TOOLING_VERSION);
        if !undocumented.is_empty()
            && let Some(runs) = log["runs"].as_array_mut()
        {
            runs.extend(more["runs"].as_array().into_iter().flatten().cloned());
        }
        write(file, &stable_json(&log))?;
    }
    if let (Some(file), Some(coverage)) = (badge, &checked.coverage) {
        write(file, &stable_json(&coverage.badge()))?;
    }
    Ok(())
}

fn write(file: &Path, text: &str) -> Result<(), Fault> {
    std::fs::write(file, text).map_err(|error| {
        let shown = escaped_line(&file.to_string_lossy());
        Fault::new(ErrorCode::InvalidRequest, format!("`{shown}` cannot be written: {error}."))
            .with_hint("Name a file in a folder that exists and may be written.")
    })
}
