//! Workers that write two small pages from the README of the product. The product's slug selects what goes wrong:
//!
//! - `faulty`: the page of docs has two sentences without a source;
//! - `twisted`: the same, and the fixer replaces each with a token of a template;
//! - `stubborn`: the same, and the fixer changes nothing;
//! - `loose`: a page lies outside the allowed paths;
//! - `slow`: the plan takes until [`finish_plan`];
//! - `broken`: the plan fails;
//! - `bulky`: the scout writes 3 MiB.

use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use launch::claim::{Citation, Claim, ClaimKind, claim_id, line_sha256, marker, span_sha256};
use launch::evidence::Questions;
use launch::forms::{PRODUCT_FACTS, PagePlan, ProductFacts, SITE_CONTEXT, SNIPPET_CATALOG};
use launch::report::{ValidationReport, stable_json};
use launch::snapshot::VALIDATION_REPORT;
use launch::validate;
use launch::worker::{
    self, NewArtifact, PAGE_PLAN, Run, SiteChange, SiteView, Worker, WorkerError, WorkerInput, WorkerOutput,
};
use launch_runs::runs::WorkerTable;
use serde_json::{Value, json};

/// All workers.
pub(crate) static TABLE: WorkerTable =
    &[&SCOUT, &FACTS, &SNIPPETS, &PLAN, &WRITE, &LINK, &validate::WORKER, &FIX];

const LICENCE_LINE: &str = "The licence is MIT.";
const INVENTED: [&str; 2] = ["It is the fastest.", "It never fails."];

const fn worker(name: &'static str, artifacts: &'static [&'static str], run: Run) -> Worker {
    Worker {
        name,
        version: 1,
        artifacts,
        site: SiteView::Base,
        parses: false,
        asks: |_| Questions::default(),
        run,
    }
}

static SCOUT: Worker = worker(worker::SCOUT, &[], scout);
static FACTS: Worker = worker(worker::FACTS, &[], facts);
static SNIPPETS: Worker = worker(worker::SNIPPETS, &[], snippets);
static PLAN: Worker = worker(worker::PLAN, &[PRODUCT_FACTS], plan);
static WRITE: Worker = worker(worker::WRITE, &[PRODUCT_FACTS, PAGE_PLAN], write);
static LINK: Worker = worker(worker::LINK, &[PAGE_PLAN, "drafts/"], link);
static FIX: Worker = Worker { site: SiteView::Patched, ..worker(worker::FIX, &[VALIDATION_REPORT], fix) };

fn json_artifact(name: &str, schema_id: &'static str, content: &Value) -> NewArtifact {
    NewArtifact::json(name, schema_id, stable_json(content))
}

fn made(artifacts: Vec<NewArtifact>) -> Result<WorkerOutput, WorkerError> {
    Ok(WorkerOutput { artifacts, ..WorkerOutput::default() })
}

fn has(input: &WorkerInput<'_>, fault: &str) -> bool {
    input.item.config.product_slug.contains(fault)
}

fn read<T: serde::de::DeserializeOwned>(
    input: &WorkerInput<'_>,
    worker: &str,
    name: &str,
) -> Result<T, WorkerError> {
    let text = input.item.text(name).ok_or_else(|| WorkerError::missing(worker, name))?;
    serde_json::from_str(text).map_err(|error| WorkerError::new("MALFORMED_ARTIFACT", error.to_string()))
}

/// The slow products of this process, by slug: whose plan was begun, and whose may be finished.
struct SlowPlans {
    begun: BTreeSet<String>,
    released: BTreeSet<String>,
}

static SLOW_PLANS: Mutex<SlowPlans> =
    Mutex::new(SlowPlans { begun: BTreeSet::new(), released: BTreeSet::new() });
static RELEASED: Condvar = Condvar::new();

/// Checks whether the plan of a slow product is being made. The worker has read the index by then.
pub(crate) fn is_planning(slug: &str) -> bool {
    SLOW_PLANS.lock().unwrap().begun.contains(slug)
}

/// Lets the plan of a slow product be finished.
pub(crate) fn finish_plan(slug: &str) {
    SLOW_PLANS.lock().unwrap().released.insert(slug.to_owned());
    RELEASED.notify_all();
}

/// Waits until a test has the plan finished; not for ever, because a failed test does not.
fn wait_in_plan(slug: &str) -> Result<(), WorkerError> {
    let mut plans = SLOW_PLANS.lock().unwrap();
    plans.begun.insert(slug.to_owned());
    let is_held = |plans: &mut SlowPlans| !plans.released.contains(slug);
    let (_plans, waited) = RELEASED.wait_timeout_while(plans, Duration::from_secs(120), is_held).unwrap();
    if waited.timed_out() {
        return Err(WorkerError::new("INTERNAL", "The plan was not finished by its test."));
    }
    Ok(())
}

/// A text of 3 MiB whose characters have up to four bytes.
pub(crate) fn bulk() -> String {
    "grün 🦀 ".repeat((3 << 20) / "grün 🦀 ".len())
}

fn scout(input: &WorkerInput<'_>) -> Result<WorkerOutput, WorkerError> {
    let inventory = json!({ "licence": input.evidence.licence().map(|licence| &licence.spdx),
        "pages": input.item.site.paths().len() });
    let mut artifacts = vec![
        json_artifact("repo_inventory.json", "repo_inventory", &inventory),
        json_artifact(SITE_CONTEXT, "site_context", &json!({ "folders": [] })),
    ];
    if has(input, "bulky") {
        artifacts.push(NewArtifact::markdown("bulk.md", bulk()));
    }
    made(artifacts)
}

fn facts(input: &WorkerInput<'_>) -> Result<WorkerOutput, WorkerError> {
    let readme = input.evidence.text("README.md").unwrap_or_default();
    let claims: Vec<Claim> = readme
        .lines()
        .zip(1..)
        .filter(|(line, _)| line.ends_with('.'))
        .map(|(line, number)| Claim {
            claim_id: claim_id(line, ClaimKind::Feature, Some(&input.item.config.product_name)),
            text: line.to_owned(),
            kind: ClaimKind::Feature,
            citations: vec![Citation {
                path: "README.md".to_owned(),
                start_line: number,
                end_line: number,
                sha256: span_sha256(line),
            }],
            replaced_by: None,
        })
        .collect();
    made(vec![json_artifact(PRODUCT_FACTS, "product_facts", &json!({ "claims": claims }))])
}

fn snippets(_: &WorkerInput<'_>) -> Result<WorkerOutput, WorkerError> {
    made(vec![json_artifact(SNIPPET_CATALOG, "snippet_catalog", &json!({ "snippets": [] }))])
}

fn plan(input: &WorkerInput<'_>) -> Result<WorkerOutput, WorkerError> {
    if has(input, "slow") {
        wait_in_plan(&input.item.config.product_slug)?;
    }
    if has(input, "broken") {
        return Err(WorkerError::new("URL_COLLISION", "Two pages have one address."));
    }
    let folder = if has(input, "loose") { "content/docs-x" } else { "content/docs" };
    let pages: Vec<Value> = input
        .item
        .config
        .required_sections
        .iter()
        .map(|section| {
            json!({ "section": section, "output_path": format!("{folder}/{}.md", section.as_str()) })
        })
        .collect();
    made(vec![json_artifact(PAGE_PLAN, "page_plan", &json!({ "pages": pages }))])
}

fn write(input: &WorkerInput<'_>) -> Result<WorkerOutput, WorkerError> {
    let section = input.item.scope_key;
    let facts: ProductFacts = read(input, worker::WRITE, PRODUCT_FACTS)?;
    let last = facts.claims.len().saturating_sub(1);
    let claim = facts.claims.get(usize::from(section == "kb").min(last));
    let claim = claim.ok_or_else(|| WorkerError::new("NO_CLAIMS", "There is nothing to say."))?;
    let title = format!("# About {section}");
    let mut page = format!("{title}\n\n{} {}\n\n{LICENCE_LINE}\n", claim.text, marker(&claim.claim_id));
    if section == "docs" && (has(input, "faulty") || has(input, "twisted") || has(input, "stubborn")) {
        for sentence in INVENTED {
            page.push_str(&format!("\n{sentence}\n"));
        }
    }
    made(vec![
        NewArtifact::markdown(format!("drafts/{section}.md"), page),
        json_artifact(
            &format!("template_lines/{section}.json"),
            "template_lines",
            &json!({ "lines": [line_sha256(LICENCE_LINE), line_sha256(&title)] }),
        ),
    ])
}

fn link(input: &WorkerInput<'_>) -> Result<WorkerOutput, WorkerError> {
    let plan: PagePlan = read(input, worker::LINK, PAGE_PLAN)?;
    let mut output = WorkerOutput::default();
    for page in &plan.pages {
        let draft = format!("drafts/{}.md", page.section.as_str());
        let text = input.item.text(&draft).ok_or_else(|| WorkerError::missing(worker::LINK, &draft))?;
        output.changes.push(SiteChange { path: page.output_path.clone(), bytes: text.as_bytes().to_vec() });
        output.patch_ids.push(format!("create-{}", page.section.as_str()));
    }
    let bundle = json!({ "patches": output.patch_ids });
    output.artifacts.push(json_artifact("patch_bundle.json", "patch_bundle", &bundle));
    Ok(output)
}

/// Removes the line of the issue.
fn fix(input: &WorkerInput<'_>) -> Result<WorkerOutput, WorkerError> {
    let issue_id = input.item.scope_key;
    let report: ValidationReport = read(input, worker::FIX, VALIDATION_REPORT)?;
    let issue = report.issues.iter().find(|issue| issue.issue_id == issue_id);
    let place = issue.and_then(|issue| Some((issue.path.clone()?, issue.line?)));
    let (path, line) = place.ok_or_else(|| WorkerError::missing(worker::FIX, issue_id))?;
    let note = NewArtifact::markdown(format!("reports/fix_{issue_id}.md"), format!("# {path}:{line}\n"));
    if has(input, "stubborn") {
        return made(vec![note]);
    }
    let text = String::from_utf8(input.item.site.read(&path).unwrap_or_default()).unwrap_or_default();
    let replacement = has(input, "twisted").then_some("{{PRODUCT_NAME}}");
    let lines = text.lines().zip(1..).filter_map(
        |(text, number)| {
            if number == line { replacement } else { Some(text) }
        },
    );
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    Ok(WorkerOutput {
        artifacts: vec![note],
        changes: vec![SiteChange { path, bytes: text.into_bytes() }],
        patch_ids: vec![format!("fix-{issue_id}")],
        report: None,
    })
}
