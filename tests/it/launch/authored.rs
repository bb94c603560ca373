//! A refresh leaves pages that people edited, moved or removed, and says so.

use std::fs;
use std::path::Path;

use launch_runs::runs::WORKERS;
use serde_json::{Value, json};

use super::golden::{self, README};
use super::{Scene, push};
use crate::harness::{commit_all, git};

const START: &str = "content/docs/shop/getting-started.md";
const API: &str = "content/docs/reference/shop/api.md";
const QUESTIONS: &str = "content/docs/kb/shop/questions.md";
/// A limitation that later READMEs have, and most pages list.
const LATER: &str = "ShopKit does not print receipts.";

/// A product, and a site whose pages have titles, descriptions and weights, as six pages of it show.
async fn scene() -> Scene {
    let repository = golden::product();
    commit_all(repository.path());
    let scene = Scene::with_workers(repository, WORKERS).await;
    push(scene.site.path(), |work| {
        for number in 1..7 {
            let page = format!(
                "---\ntitle: Page {number}\ndescription: About {number}.\nweight: {number}\n---\n\nText.\n"
            );
            fs::write(work.join(format!("content/docs/page-{number}.md")), page).unwrap();
        }
    });
    scene
}

/// Runs a run to its end, and returns its id and its branch.
async fn published(scene: &Scene) -> (String, String) {
    let run = scene.ready_with(golden::config(scene)).await;
    let opened = scene.result("launch_open_pr", &run).await;
    (run, opened["branch"].as_str().unwrap().to_owned())
}

/// Merges a branch into the base, as people do.
fn merge(scene: &Scene, branch: &str, change: impl FnOnce(&Path)) {
    push(scene.site.path(), |work| {
        git(work, &["merge", "--quiet", "--no-ff", "--no-commit", &format!("origin/{branch}")]);
        change(work);
    });
}

/// A site with the pages of a run, which people changed while they merged them.
async fn merged(change: impl FnOnce(&Path)) -> Scene {
    let scene = scene().await;
    let (_, branch) = published(&scene).await;
    merge(&scene, &branch, change);
    scene
}

/// The product says something more.
async fn say_more(scene: &Scene) {
    scene.repository.write("README.md", &format!("{README}\n{LATER}\n"));
    commit_all(scene.repository.path());
    scene.index().await;
}

fn edit(work: &Path, path: &str, change: impl FnOnce(&str) -> String) {
    let file = work.join(path);
    let text = fs::read_to_string(&file).unwrap();
    let changed = change(&text);
    assert_ne!(changed, text, "{path}");
    fs::write(file, changed).unwrap();
}

/// Code and path of each issue about a page that stays as it is.
async fn kept(scene: &Scene, run: &str) -> Vec<(String, String)> {
    let status = scene.status(run).await;
    let issues = status["open_issues"].as_array().unwrap().iter();
    let codes = ["edited_page", "foreign_page", "address_taken", "removed_page", "moved_page"];
    let about = issues.filter(|issue| codes.iter().any(|code| issue["code"] == *code));
    let text = |issue: &Value, field: &str| issue[field].as_str().unwrap().to_owned();
    let mut found: Vec<(String, String)> =
        about.map(|issue| (text(issue, "code"), text(issue, "path"))).collect();
    found.sort();
    found
}

fn info(code: &str, path: &str) -> (String, String) {
    (code.to_owned(), path.to_owned())
}

fn changed(scene: &Scene, branch: &str) -> String {
    scene.site_git(&["diff", "--name-only", "main", branch])
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_that_people_edited_stay_as_they_are() {
    // One was edited before it was merged, one afterwards, and of one only the front matter.
    let scene = merged(|work| edit(work, QUESTIONS, |text| format!("{text}\nAsk us anything.\n"))).await;
    push(scene.site.path(), |work| {
        edit(work, START, |text| text.replace("counts the coins", "carefully counts the coins"));
        edit(work, API, |text| {
            text.replacen("weight: 10\n", "weight: 3 # first of all\nauthors: [ada]\n", 1)
        });
    });
    say_more(&scene).await;
    let (run, branch) = published(&scene).await;
    let left = [info("edited_page", QUESTIONS), info("edited_page", API), info("edited_page", START)];
    assert_eq!(kept(&scene, &run).await, left);
    let changed = changed(&scene, &branch);
    for path in [START, API, QUESTIONS] {
        assert!(!changed.contains(path), "{changed}");
    }
    let status = scene.status(&run).await;
    assert_eq!(
        (&status["state"], &status["section_states"]),
        (&json!("DONE"), &json!({ "docs": "DONE", "kb": "DONE", "reference": "DONE" })),
        "{status:#}"
    );
    // A page that is edited back is the run's again.
    push(scene.site.path(), |work| {
        edit(work, START, |text| text.replace("carefully counts the coins", "counts the coins"));
    });
    let (run, branch) = published(&scene).await;
    assert_eq!(kept(&scene, &run).await, left[..2]);
    let page = scene.site_git(&["show", &format!("{branch}:{START}")]);
    assert!(page.contains(LATER), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_that_people_moved_or_removed_are_not_written_again() {
    // One was not taken over, one was moved later, and another one removed.
    let scene = merged(|work| fs::remove_file(work.join(QUESTIONS)).unwrap()).await;
    push(scene.site.path(), |work| {
        fs::create_dir_all(work.join("content/guide")).unwrap();
        fs::rename(work.join(START), work.join("content/guide/begin.md")).unwrap();
    });
    say_more(&scene).await;
    let (run, branch) = published(&scene).await;
    let mut expected = vec![info("moved_page", START), info("removed_page", QUESTIONS)];
    assert_eq!(kept(&scene, &run).await, expected);
    assert!(changed(&scene, &branch).contains(API), "the page that stayed is refreshed");
    let report = scene.artifact(&run, "validation_report.json").await;
    assert!(report.contains("content/guide/begin.md"), "{report}");

    push(scene.site.path(), |work| fs::remove_file(work.join(API)).unwrap());
    let (run, branch) = published(&scene).await;
    expected.push(info("removed_page", API));
    assert_eq!(kept(&scene, &run).await, expected);
    let changed = changed(&scene, &branch);
    for path in [START, API, QUESTIONS, "begin.md"] {
        assert!(!changed.contains(path), "{changed}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_people_wrote_keeps_its_place() {
    for mine in [START, "content/docs/shop/getting-started/_index.md"] {
        let scene = scene().await;
        push(scene.site.path(), |work| {
            fs::create_dir_all(work.join(mine).parent().unwrap()).unwrap();
            fs::write(
                work.join(mine),
                "---\ntitle: Start\ndescription: Mine.\nweight: 1\n---\n\nAs we do it.\n",
            )
            .unwrap();
        });
        let (run, branch) = published(&scene).await;
        let code = if mine == START { "foreign_page" } else { "address_taken" };
        assert_eq!(kept(&scene, &run).await, [info(code, START)]);
        let changed = changed(&scene, &branch);
        assert!(
            changed.contains(API) && changed.contains(QUESTIONS) && !changed.contains(START),
            "{changed}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refresh_keeps_front_matter_and_line_ends() {
    let scene = merged(|work| edit(work, API, |text| text.replace('\n', "\r\n"))).await;
    let before = scene.site_git(&["show", &format!("main:{START}")]);
    assert!(before.contains("\ndescription: ") && before.contains("\nweight: 10\n"), "{before}");
    let (run, branch) = published(&scene).await;
    assert_eq!(
        (kept(&scene, &run).await, changed(&scene, &branch).as_str()),
        (vec![], ""),
        "nothing is to be said"
    );
    // Nothing around the pages says any more which keys they should have.
    push(scene.site.path(), |work| {
        for number in 1..7 {
            fs::remove_file(work.join(format!("content/docs/page-{number}.md"))).unwrap();
        }
    });
    say_more(&scene).await;
    let (run, branch) = published(&scene).await;
    assert_eq!(kept(&scene, &run).await, []);
    let diff = scene.site_git(&["diff", "main", &branch, "--", START]);
    let removed: Vec<&str> =
        diff.lines().filter(|line| line.starts_with('-') && !line.starts_with("---")).collect();
    assert!(removed.is_empty() && diff.contains(&format!("+- {LATER}")), "only something is added: {diff}");
    let page = scene.site_git(&["show", &format!("{branch}:{API}")]);
    assert!(page.contains(LATER) && page.matches('\n').count() == page.matches("\r\n").count(), "{page:?}");
}
