//! `GET /catalog/gates`: shows whether the catalog meets the conditions of the team.

use axum::response::Response;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::{Value, json};

use super::answers::{document_text, documents};
use super::frame::{CatalogFrame, refused, verdict};
use surfaces::http::pages::frame::{Asker, PageError, Parameters, table};
use surfaces::http::routing::SentQuery;

pub(super) use super::paths::CATALOG_GATES as PATH;

/// The answer of `gates_evaluate`; without results if the catalog has no gates.
#[derive(Debug, Deserialize)]
struct Evaluated {
    #[serde(default)]
    results: Vec<GateResult>,
    #[serde(default)]
    summary: Summary,
}

#[derive(Debug, Default, Deserialize)]
struct Summary {
    errors: usize,
    warnings: usize,
    total: usize,
}

#[derive(Debug, Deserialize)]
struct GateResult {
    id: String,
    description: Option<String>,
    passed: bool,
    count: usize,
    op: String,
    value: usize,
    severity: String,
    #[serde(default)]
    parts: Vec<GatePart>,
}

/// The outcome of a condition inside a gate.
#[derive(Debug, Deserialize)]
struct GatePart {
    place: String,
    passed: bool,
    count: usize,
    op: String,
    value: usize,
}

/// `GET /catalog/gates`.
pub(super) async fn show(asker: Asker, sent: SentQuery) -> Response {
    let parameters = match Parameters::read(&asker, sent, &[]) {
        Ok(parameters) => parameters,
        Err(error) => return refused(&asker, asker.default_project(), &error),
    };
    let project = parameters.project.as_str();
    let frame = CatalogFrame { asker: &asker, project, tab: PATH, title: "Gates" };
    frame.answer(load(&asker, project).await)
}

async fn load(asker: &Asker, project: &str) -> Result<Markup, PageError> {
    let arguments = json!({ "project_id": project });
    let (evaluated, documents) =
        tokio::join!(asker.tool::<Evaluated>("gates_evaluate", arguments), documents(asker, project));
    Ok(content(&evaluated?.result, documents?.gates.as_ref()))
}

fn content(evaluated: &Evaluated, document: Option<&Value>) -> Markup {
    let Summary { errors, warnings, total } = evaluated.summary;
    html! {
        @match document {
            Some(document) => {
                p.summary role="status" { (total) " gates: " (errors) " failed, " (warnings) " with a warning" }
                (results(&evaluated.results))
                details { summary { "The gates as they were written" } pre.command.text { (document_text(document)) } }
            }
            None => {
                p { "The catalog has no gates, so nothing can fail." }
                p.dim {
                    "Gates are conditions such as: at least one entry is critical. " code { "pairofcleats instructions gates" }
                    " fails a build with them; they are imported as " code { "gates.json" } "."
                }
            }
        }
    }
}

fn results(gates: &[GateResult]) -> Markup {
    let head = html! {
        th scope="col" { "Gate" } th scope="col" { "Outcome" } th scope="col" { "Condition" } th scope="col" { "Severity" }
    };
    let rows = html! {
        @for gate in gates {
            tr {
                td {
                    strong { (gate.id) }
                    @if let Some(description) = &gate.description { br; (description) }
                }
                td { (outcome(gate.passed, &gate.severity)) }
                td { (condition(gate.count, &gate.op, gate.value)) (parts(&gate.parts)) }
                td { (gate.severity) }
            }
        }
    };
    table("Gates", &head, &rows)
}

fn outcome(passed: bool, severity: &str) -> Markup {
    match (passed, severity) {
        (true, _) => verdict(true, "passed"),
        (false, "warn") => verdict(false, "warning"),
        (false, _) => verdict(false, "failed"),
    }
}

/// Describes the count, and the value that it was compared with.
fn condition(count: usize, op: &str, value: usize) -> String {
    match op {
        "all" | "any" | "not" => format!("{op}: {count} of {value} hold"),
        _ => format!("{count} entries, wanted {op} {value}"),
    }
}

fn parts(parts: &[GatePart]) -> Markup {
    html! {
        @if !parts.is_empty() {
            details {
                summary { "Its parts" }
                ul.plain {
                    @for part in parts {
                        li {
                            (verdict(part.passed, if part.passed { "holds" } else { "does not hold" })) " "
                            code { (part.place) } " " (condition(part.count, &part.op, part.value))
                        }
                    }
                }
            }
        }
    }
}
