//! Renders the decisions about a finding, the latest first.

use maud::{Markup, html};

use super::answers::PastDecision;
use super::status_label;
use surfaces::http::pages::frame::{external_link, moment};

/// Renders the decisions; `is_cut` indicates that there are more.
pub(super) fn timeline(decisions: &[PastDecision], is_cut: bool) -> Markup {
    html! {
        section aria-labelledby="decisions" {
            h2 id="decisions" { "Decisions" }
            @if decisions.is_empty() { p { "There are no decisions yet." } }
            ol.timeline { @for decision in decisions { li { (past_decision(decision)) } } }
            @if is_cut { p.dim { "Older decisions are not shown." } }
        }
    }
}

fn past_decision(past: &PastDecision) -> Markup {
    let record = &past.stored.record;
    let decision = record.decision.clone().unwrap_or_default();
    html! {
        h3 {
            (status_label(&decision.status))
            @if past.is_in_force { " " span.badge { "in force" } }
            @if past.is_expired { " " span.badge { "expired" } }
        }
        p.dim {
            (moment(&past.stored.created_at))
            @if let Some(reviewer) = &decision.reviewer { " · " bdi { (reviewer) } }
            @if let Some(end) = &decision.expires_at { " · holds until " (moment(end)) }
            @if let Some(service) = &record.service { " · " bdi { (service) } }
            @if let Some(env) = &record.env { " / " bdi { (env) } }
        }
        @if let Some(why) = &decision.justification { p.prose dir="auto" { (why) } }
        @if !decision.justification_codes.is_empty() {
            p { @for code in &decision.justification_codes { code { (code) } " " } }
        }
        @if !decision.evidence_refs.is_empty() {
            ul.plain { @for reference in &decision.evidence_refs { li { (external_link(reference)) } } }
        }
    }
}
