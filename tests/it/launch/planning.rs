//! A plan that lacks a section is made again by a program that plans otherwise, and never twice from the same inputs.

use launch::evidence::Questions;
use launch::forms::PRODUCT_FACTS;
use launch::report::stable_json;
use launch::worker::{PAGE_PLAN, PLAN, SiteView, Worker, WorkerError, WorkerInput, WorkerOutput};
use launch_runs::runs::WorkerTable;
use serde_json::{Value, json};

use super::{Scene, app_with_workers, blockers, drive, product, workers};
use crate::harness::{home, result};

/// A worker of an older program, which plans no page for questions.
static FORGETFUL_PLAN: Worker = Worker {
    name: PLAN,
    version: 0,
    artifacts: &[PRODUCT_FACTS],
    site: SiteView::Base,
    parses: false,
    asks: |_| Questions::default(),
    run: forget_questions,
};

fn forget_questions(input: &WorkerInput<'_>) -> Result<WorkerOutput, WorkerError> {
    let whole = workers::TABLE.iter().find(|worker| worker.name == PLAN).unwrap();
    let mut output = (whole.run)(input)?;
    let plan = output.artifacts.iter_mut().find(|artifact| artifact.name == PAGE_PLAN).unwrap();
    let mut pages: Value = serde_json::from_slice(&plan.bytes).unwrap();
    pages["pages"].as_array_mut().unwrap().retain(|page| page["section"] != "kb");
    plan.bytes = stable_json(&pages).into_bytes();
    Ok(output)
}

/// The workers of these tests, with that one.
fn forgetful() -> WorkerTable {
    let workers = workers::TABLE.iter().map(|worker| match worker.name {
        PLAN => &FORGETFUL_PLAN,
        _ => *worker,
    });
    Box::leak(workers.collect::<Vec<&'static Worker>>().into_boxed_slice())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_without_a_required_section_is_made_again_by_a_later_program() {
    let scene = Scene::with_workers(product(), forgetful()).await;
    let run = scene.start("shop").await;
    let stuck = scene.drive(&run).await;
    assert_eq!((&stuck["state"], &stuck["fix_attempts"]), (&json!("VALIDATING"), &json!(0)), "{stuck:#}");
    let codes: Vec<Value> = blockers(&stuck).iter().map(|issue| issue["code"].clone()).collect();
    assert_eq!(codes, ["missing_section"], "{stuck:#}");

    let later = app_with_workers(workers::TABLE, home(), &scene.project, scene.site.path(), |_| {});
    let status = drive(&later, &scene.project, &run).await;
    assert_eq!(
        (&status["state"], &status["fix_attempts"]),
        (&json!("READY_FOR_PR"), &json!(1)),
        "{status:#}"
    );
    let opened = result(&later, "launch_open_pr", scene.arguments(&run)).await;
    let changed = scene.site_git(&["diff", "--name-only", "main", opened["branch"].as_str().unwrap()]);
    assert_eq!(changed, "content/docs/docs.md\ncontent/docs/kb.md\n");
}
