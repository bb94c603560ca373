//! The sentences of published pages whose source lines have changed: old and new side by side.

use maud::{Markup, html};

use super::answers::{Freshness, Lines, StaleClaim};
use super::short_id;
use surfaces::http::pages::frame::moment;

/// Renders the stale sentences of a run whose site is watched.
pub(super) fn stale(freshness: &Freshness) -> Markup {
    html! {
        h2 { "Stale sentences " span.dim { (freshness.stale_count) } }
        p.dim {
            (freshness.claims) " sentences compared with commit " code title=(freshness.checked_sha) {
                (short_id(&freshness.checked_sha))
            }
            ", " (moment(&freshness.checked_at))
        }
        @for claim in &freshness.stale { (sentence(claim)) }
        @if freshness.truncated { p.dim { "There are more than are listed." } }
    }
}

fn sentence(claim: &StaleClaim) -> Markup {
    html! {
        section.card {
            p { q { (claim.text) } }
            p.dim { "In " bdi.path { (claim.page) ":" (claim.line) } ", from " bdi.path { (claim.path) } }
            div.columns {
                (lines("Then", Some(&claim.old)))
                (lines("Now", claim.new.as_ref()))
            }
        }
    }
}

fn lines(label: &str, lines: Option<&Lines>) -> Markup {
    html! {
        div {
            h3 { (label) @if let Some(lines) = lines { span.dim { " from line " (lines.start_line) } } }
            @match lines {
                Some(lines) => {
                    @if !lines.lines.is_empty() { pre.command.text { (lines.lines.join("\n")) } }
                    @if lines.truncated { p.dim { "Something is left out." } }
                }
                None => { p.dim { "The lines are gone." } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use launch::freshness::{ShownLines, StaleSentence, Verdict};
    use serde_json::json;

    #[test]
    fn what_the_tool_answers_is_shown_as_text() {
        let old = ShownLines { truncated: true, ..ShownLines::new(3, []) };
        let sentence = StaleSentence {
            claim_id: "c".to_owned(),
            page: "docs/a.md".to_owned(),
            line: 5,
            text: "Counts <b>coins</b>.".to_owned(),
            path: "README.md".to_owned(),
            old,
            new: Some(ShownLines::new(7, ["Counts <i>notes</i>."])),
            verdict: Verdict::Stale,
        };
        let gone = StaleSentence { new: None, verdict: Verdict::Gone, ..sentence.clone() };
        let answer = json!({
            "checked_sha": "0123456789abcdef", "checked_at": "2026-01-21T13:00:00.000Z", "claims": 4, "stale_count": 3,
            "stale": [sentence, gone], "truncated": true,
        });
        let html = stale(&serde_json::from_value(answer).unwrap()).into_string();
        for part in [
            "Counts &lt;b&gt;coins&lt;/b&gt;.",
            "Counts &lt;i&gt;notes&lt;/i&gt;.",
            "docs/a.md:5",
            "from line 7",
            "Something is left out.",
            "The lines are gone.",
            "There are more than are listed.",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
    }
}
