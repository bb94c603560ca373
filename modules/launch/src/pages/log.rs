//! The last events of a run.

use maud::{Markup, html};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::{LIST_LAUNCH_EVENTS, RecentEvents};
use surfaces::http::pages::frame::{Asker, PageError, failure, moment};

/// Number of events that are shown.
const EVENTS: usize = 50;
/// Longest summary of an event, in characters.
const SUMMARY_CHARS_MAX: usize = 300;

/// An event in the log.
#[derive(Debug, Deserialize)]
struct Entry {
    seq: i64,
    ts: String,
    #[serde(rename = "type")]
    kind: String,
    payload: Value,
}

/// Reads the last events of a run.
pub(super) async fn read(asker: &Asker, project: &str, run_id: &str) -> Result<RecentEvents, PageError> {
    let arguments = json!({ "run_id": run_id, "limit": EVENTS, "project_id": project });
    Ok(asker.operation::<RecentEvents>(LIST_LAUNCH_EVENTS, arguments).await?.result)
}

/// Renders the last events, the newest first.
pub(super) fn log(events: &Result<RecentEvents, PageError>) -> Markup {
    html! {
        h2 { "Log" }
        @match events {
            Err(error) => (failure::note(error)),
            Ok(recent) => {
                p.dim { "The last " (recent.events.len()) " events, the newest first." }
                ol.timeline {
                    @for entry in recent.events.iter().filter_map(|event| Entry::deserialize(event).ok()) {
                        li {
                            p {
                                span.dim { (entry.seq) " · " (moment(&entry.ts)) " · " } (entry.kind)
                                @let summary = summary(&entry.payload);
                                @if !summary.is_empty() { br; span.dim { (summary) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Formats the scalar fields of a payload on one line, including those one level below.
fn summary(payload: &Value) -> String {
    let mut parts = Vec::new();
    collect(payload, true, &mut parts);
    let text = parts.join(", ");
    match text.char_indices().nth(SUMMARY_CHARS_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

fn collect(payload: &Value, goes_deeper: bool, parts: &mut Vec<String>) {
    for (name, value) in payload.as_object().into_iter().flatten() {
        match value {
            Value::String(text) if text.is_empty() => {}
            Value::String(text) => parts.push(format!("{name} {text}")),
            Value::Number(_) | Value::Bool(_) => parts.push(format!("{name} {value}")),
            Value::Object(_) if goes_deeper => collect(value, false, parts),
            Value::Array(values) => parts.push(format!("{name} ({})", values.len())),
            Value::Object(_) | Value::Null => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_summarised_in_one_short_line() {
        let payload =
            json!({ "item": { "worker": "scout", "scope_key": "", "attempt": 1 }, "outputs": [1, 2] });
        let shown = summary(&payload);
        for part in ["attempt 1", "worker scout", "outputs (2)"] {
            assert!(shown.contains(part), "{shown}");
        }
        assert!(!shown.contains("scope_key"), "{shown}");
        assert_eq!(summary(&json!(null)), "");
        let long = summary(&json!({ "text": "ä".repeat(1000) }));
        assert_eq!((long.chars().count(), long.ends_with('…')), (SUMMARY_CHARS_MAX + 1, true));
    }
}
