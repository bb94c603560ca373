//! The progress of a run, as a line of its states and as facts.

use launch::state::RunState;
use maud::{Markup, html};

use super::answers::{Publication, RunStatus};
use super::short_id;
use surfaces::http::pages::frame::{external_link, message, moment};

/// Renders the states, with the current one marked. A run that ended early does not show how far it got.
pub(super) fn states(current: &str) -> Markup {
    let current = RunState::parse(current).filter(|state| *state <= RunState::Done);
    html! {
        @if let Some(current) = current {
            ol.states aria-label="Progress" {
                @for state in line(current) {
                    li class=[(state < current).then_some("done")] aria-current=[(state == current).then_some("step")] { (state.as_str()) }
                }
            }
        }
    }
}

/// Returns the states on the way to the end; fixing is included only while it lasts.
fn line(current: RunState) -> impl Iterator<Item = RunState> {
    let is_passed = move |state: &RunState| {
        *state <= RunState::Done && (*state != RunState::Fixing || current == RunState::Fixing)
    };
    RunState::ALL.into_iter().filter(is_passed)
}

/// Renders what blocks the run, and what is working on it.
pub(super) fn notes(status: &RunStatus) -> Markup {
    html! {
        p {
            strong { (status.state) }
            @if let Some(job) = status.jobs.first() {
                " · last job: " (job.action) ", " (job.state)
                @if let Some(text) = &job.message { ": " (message(text)) }
            }
        }
        @if let Some(reason) = &status.pending { p.note { (message(reason)) } }
        @if let Some(failure) = &status.failure {
            div.note.bad { p { (message(&failure.message)) " " code { (failure.code) } } }
        }
    }
}

/// Renders the facts of a run.
pub(super) fn facts(status: &RunStatus) -> Markup {
    html! {
        dl.facts {
            dt { "Run" } dd { code { (status.run_id) } button.copy type="button" hidden data-copy=(status.run_id) { "Copy id" } }
            dt { "Repository" } dd { "commit " code title=(status.repo_sha) { (short_id(&status.repo_sha)) } }
            dt { "Site" } dd {
                bdi { (status.site_profile) } ", commit " code title=(status.site_sha) { (short_id(&status.site_sha)) }
            }
            @if let Some(is_ok) = status.last_report_ok {
                dt { "Last validation" } dd { @if is_ok { span.good { "passed" } } @else { strong.wrong { "not passed" } } }
            }
            dt { "Fixes" } dd { (status.fix_attempts) " of " (status.max_fix_attempts) }
            dt { "Started" } dd { (moment(&status.started_at)) }
            dt { "Last event" } dd { (moment(&status.updated_at)) }
            @if let Some(at) = &status.finished_at { dt { "Ended" } dd { (moment(at)) } }
            @if let Some(publication) = &status.publication { (published(publication)) }
        }
    }
}

fn published(publication: &Publication) -> Markup {
    html! {
        dt { "Branch" } dd {
            code { (publication.branch) }
            @if let Some(commit) = &publication.commit_sha { ", commit " code title=(commit) { (short_id(commit)) } }
        }
        @if let Some(address) = &publication.pr_url { dt { "Pull request" } dd { (external_link(address)) } }
    }
}

/// Renders the progress of each section.
pub(super) fn sections(status: &RunStatus) -> Markup {
    html! {
        @if !status.section_states.is_empty() {
            h2 { "Sections" }
            dl.facts { @for (section, state) in &status.section_states { dt { (section) } dd { (state) } } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_names_where_the_run_is() {
        let html = states("VALIDATING").into_string();
        assert!(html.contains("<li aria-current=\"step\">VALIDATING</li>"), "{html}");
        assert!(html.contains("<li class=\"done\">LINKING</li><li aria-current"), "{html}");
        assert!(html.contains("<li>READY_FOR_PR</li>") && !html.contains("FIXING"), "{html}");
        assert!(states("FIXING").into_string().contains("<li aria-current=\"step\">FIXING</li>"));
        for ended in ["FAILED", "CANCELLED", "nonsense"] {
            assert_eq!(states(ended).into_string(), "", "{ended}");
        }
    }
}
