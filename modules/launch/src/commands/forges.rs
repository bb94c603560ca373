//! `launch forges`: checks whether runs can be published on the configured forges. It changes nothing there.

use std::fmt::Write;

use code_hosts::forge::ForgeReport;
use platform::process::confined::protections;
use serde::Serialize;

use crate::runs::probe_forges;
use contract::escaped_line;
use surfaces::cli::shell::{BAD, BOLD, CommandResult, DIM, Exit, GOOD, NOTE, Session, styled};

/// The result that `--json` prints.
#[derive(Serialize)]
struct ForgesResult {
    forges: Vec<ForgeReport>,
    /// The protections for the commands of sites on this machine.
    sandbox: Vec<&'static str>,
}

/// Entry point of `launch forges`. Exits with 1 if a forge cannot be used.
pub(super) async fn check_forges(session: &Session) -> CommandResult {
    let forges = probe_forges(&session.app).await?;
    let sandbox = protections().iter().map(|protection| protection.as_str()).collect();
    let result = ForgesResult { forges, sandbox };
    session.print_result(&result, &render(&result));
    Ok(if result.forges.iter().all(ForgeReport::is_usable) { Exit::Ok } else { Exit::Failed })
}

fn render(result: &ForgesResult) -> String {
    let mut shown = String::new();
    if result.forges.is_empty() {
        shown.push_str("No forges; [[launch.forges]] in the configuration lists them (docs/launch.md).\n");
    }
    for forge in &result.forges {
        let facts = format!("{}, {}", forge.kind, escaped_line(&forge.api));
        let _ = writeln!(shown, "{}  {}", styled(BOLD, &escaped_line(&forge.name)), styled(DIM, &facts));
        if let Some(problem) = &forge.problem {
            let _ = writeln!(shown, "  {}", styled(BAD, &escaped_line(problem)));
            if let Some(hint) = &forge.hint {
                let _ = writeln!(shown, "  {}", styled(NOTE, &escaped_line(hint)));
            }
            continue;
        }
        let scopes = match forge.scopes.is_empty() {
            true => "the forge names no scopes".to_owned(),
            false => format!("scopes {}", forge.scopes.join(", ")),
        };
        let _ = writeln!(shown, "  {}", styled(GOOD, &format!("the token is accepted: {scopes}")));
        if forge.read_only {
            let _ = writeln!(shown, "  {}", styled(NOTE, "read_only: nothing is published there"));
        }
        for repository in &forge.repositories {
            let line = match &repository.problem {
                None => styled(GOOD, &format!("{}: may be written", escaped_line(&repository.repo))),
                Some(problem) => {
                    let text = format!("{}: {}", escaped_line(&repository.repo), escaped_line(problem));
                    styled(BAD, &text)
                }
            };
            let _ = writeln!(shown, "  {line}");
        }
    }
    let sandbox = match result.sandbox.is_empty() {
        true => "none".to_owned(),
        false => result.sandbox.join(", "),
    };
    let _ = writeln!(shown, "Protections of commands of sites on this machine: {sandbox}");
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use code_hosts::forge::RepositoryReport;

    #[test]
    fn unusable_forges_are_reported_with_the_reason() {
        let forge = ForgeReport {
            name: "hub".to_owned(),
            kind: "github",
            api: "https://api.github.com".to_owned(),
            reachable: true,
            token_accepted: true,
            scopes: vec!["repo".to_owned()],
            read_only: false,
            repositories: vec![RepositoryReport {
                repo: "acme/site".to_owned(),
                may_push: false,
                problem: Some("the token may not write to it".to_owned()),
            }],
            problem: None,
            hint: None,
        };
        assert!(!forge.is_usable());
        let refused = ForgeReport { problem: Some("status 401".to_owned()), ..forge.clone() };
        let shown = render(&ForgesResult { forges: vec![forge, refused], sandbox: vec!["limits"] });
        for expected in ["scopes repo", "acme/site: the token may not write to it", "status 401", "limits"] {
            assert!(shown.contains(expected), "{expected}: {shown}");
        }
    }
}
