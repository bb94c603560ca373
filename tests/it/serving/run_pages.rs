//! The pages of launch runs: what they show, who may do what there, and that only forms of this server change something.

use contract::config::Required;
use reqwest::{StatusCode, header};
use tenancy::Scope;

use super::TestServer;
use super::access::issue_key;
use super::form_page::{TOKEN, Visitor};
use super::pages::{browser, check_markup, elements};
use crate::harness::{modules, project};
use crate::launch::Scene;
use crate::valid_arguments::ABSENT_RUN;

/// A product name that becomes markup or script if a page does not escape it.
const HOSTILE: &str = "Shop</pre><script>alert(1)</script>\"'><img src=x onerror=alert(2)>";

/// The page of a run.
fn run_page(scene: &Scene, run: &str) -> String {
    format!("/runs/{run}?project={}", scene.project)
}

/// The labels of the buttons of a page, without that of signing out.
fn buttons(html: &str) -> Vec<String> {
    let parts = html.split("<button").skip(1).filter_map(|rest| rest.split_once('>'));
    let labels =
        parts.filter_map(|(_, text)| text.split_once("</button>").map(|(label, _)| label.to_owned()));
    labels.filter(|label| !label.starts_with("Copy") && label != "Sign out").collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_and_a_run_show_what_the_tools_answer() {
    let scene = Scene::new().await;
    let (run, other) = (scene.start("faulty").await, scene.start("bank").await);
    scene.drive(&run).await;
    scene.result("launch_cancel", &other).await;
    let server = TestServer::over(scene.app.clone(), modules().tools()).await;
    let visitor = Visitor::without_key(&server);
    let at = |query: &str| format!("/runs?project={}{query}", scene.project);
    let list = visitor.page(&at("")).await;
    for part in ["aria-current=\"page\">Runs</a>", "faulty", "VALIDATING", "bank", "CANCELLED", &run] {
        assert!(list.contains(part), "{part}: {list}");
    }
    let filtered = visitor.page(&at("&state=CANCELLED&product=")).await;
    assert!(filtered.contains(&other) && !filtered.contains(&run), "{filtered}");
    assert!(visitor.page(&at("&product=none")).await.contains("No run passes these filters"));
    let empty = visitor.page(&format!("/runs?project={}", project("absent"))).await;
    assert!(empty.contains("pairofcleats launch start run.json --project absent"), "{empty}");

    let page = visitor.page(&run_page(&scene, &run)).await;
    for part in [
        "aria-current=\"step\">VALIDATING</li>",
        "content/docs/docs.md:",
        "A sentence has no claim",
        "</code> has no claim.</p>",
        "truth_lock",
        "<h2 id=\"issues\">Open issues",
        "<span class=\"badge critical\">blocker</span>",
        "validation_report.json",
        "TOOL_CALLED",
        "not passed",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert_eq!(buttons(&page), ["Go on", "Validate", "Fix the next issue", "Cancel …"], "{page}");
    for (path, status) in [
        (at("&state=none"), StatusCode::BAD_REQUEST),
        (at("&nonsense=1"), StatusCode::BAD_REQUEST),
        (at("&after=nonsense"), StatusCode::BAD_REQUEST),
        (run_page(&scene, ABSENT_RUN), StatusCode::NOT_FOUND),
        (run_page(&scene, "nonsense"), StatusCode::BAD_REQUEST),
        (format!("/runs/{run}?project={}", project("absent")), StatusCode::NOT_FOUND),
        (format!("/runs/{other}/cancel?project={}", scene.project), StatusCode::CONFLICT),
        (format!("/runs/{run}/publish?project={}", scene.project), StatusCode::CONFLICT),
        (format!("/runs/{run}/artifacts/none.md?project={}", scene.project), StatusCode::BAD_REQUEST),
        (format!("/runs/{run}/artifacts/..%2Fx?project={}", scene.project), StatusCode::BAD_REQUEST),
        (format!("/runs/{run}/artifacts/a?offset=x&project={}", scene.project), StatusCode::BAD_REQUEST),
    ] {
        let (answered, html) = visitor.get(&path).await;
        assert_eq!(answered, status, "{path}: {html}");
        check_markup(&path, &html);
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_run_wrote_is_shown_as_text_and_saved_as_a_file() {
    let scene = Scene::new().await;
    let mut config = scene.config("bulky");
    config["product_name"] = HOSTILE.into();
    let run = scene.start_with(config).await;
    scene.drive(&run).await;
    let server = TestServer::over(scene.app.clone(), modules().tools()).await;
    let visitor = Visitor::without_key(&server);
    let at = |page: &str| format!("/runs/{run}/{page}?project={}", scene.project);
    let shown = visitor.page(&at("artifacts/run_config.json")).await;
    assert!(shown.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{shown}");
    assert!(elements(&shown).iter().all(|(name, _)| name != "img"), "{shown}");
    visitor.page(&run_page(&scene, &run)).await;

    let bulk = visitor.page(&at("artifacts/bulk.md")).await;
    assert!(bulk.contains("Next part →") && !bulk.contains("From the beginning"), "no link to the next part");
    let next = bulk.split("rel=\"next\" href=\"").nth(1).unwrap().split('"').next().unwrap();
    let next = visitor.page(&next.replace("&amp;", "&")).await;
    assert!(next.contains("From the beginning") && next.contains("🦀"), "the next part is not shown");

    let raw = browser().get(server.url_of(&at("raw/drafts/docs.md"))).send().await.unwrap();
    let value = |name: &str| raw.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(value("content-disposition"), "attachment; filename=\"docs.md\"");
    assert_eq!(
        (value("x-content-type-options").as_str(), value("content-type").as_str()),
        ("nosniff", "text/markdown")
    );
    assert_eq!(raw.headers()[header::CACHE_CONTROL], "private, no-store");
    assert_eq!(raw.text().await.unwrap(), scene.artifact(&run, "drafts/docs.md").await);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_forms_of_this_server_change_a_run_and_some_ask_first() {
    let scene = Scene::new().await;
    let (run, other) = (scene.start("shop").await, scene.start("shop").await);
    let server = TestServer::over(scene.app.clone(), modules().tools()).await;
    let visitor = Visitor::without_key(&server);
    let (page, cancel) = (run_page(&scene, &run), format!("/runs/{other}/cancel?project={}", scene.project));
    let project = ("project", scene.project.as_str());
    for (path, fields) in [
        (format!("/runs/{run}"), vec![project, ("action", "resume")]),
        (format!("/runs/{other}/cancel"), vec![project]),
        (format!("/runs/{other}/cancel"), vec![project, (TOKEN, "0")]),
        (format!("/runs/{run}/publish"), vec![project]),
    ] {
        let sent = visitor.send(&path, &fields).await;
        assert_eq!(sent.status, StatusCode::FORBIDDEN, "{path}: {}", sent.html);
    }
    for run in [&run, &other] {
        assert_eq!(scene.status(run).await["state"], "CREATED", "a form without a token did something");
    }
    let question = visitor.page(&cancel).await;
    assert!(question.contains("The run ends for good") && question.contains("Keep it"), "{question}");
    assert_eq!(scene.status(&other).await["state"], "CREATED", "the question did something");
    let sent = visitor.submit_to(&cancel, &format!("/runs/{other}/cancel"), &[project]).await;
    assert_eq!((sent.status, sent.location.as_str()), (StatusCode::SEE_OTHER, &*run_page(&scene, &other)));
    assert_eq!(scene.status(&other).await["state"], "CANCELLED");

    let post = async |fields: &[(&str, &str)]| {
        visitor.submit_to(&page, &format!("/runs/{run}"), &[&[project][..], fields].concat()).await
    };
    for fields in [&[][..], &[("action", "cancel")], &[("action", "launch_open_pr")]] {
        assert_eq!(post(fields).await.status, StatusCode::BAD_REQUEST, "{fields:?}");
    }
    let illegal = post(&[("action", "fix")]).await;
    assert_eq!(illegal.status, StatusCode::CONFLICT, "{}", illegal.html);
    assert!(illegal.html.contains("ILLEGAL_STATE"), "{}", illegal.html);
    assert!(
        illegal.html.contains(&format!("action=\"{page}\"")),
        "its address is that of the run: {}",
        illegal.html
    );
    let resumed = post(&[("action", "resume")]).await;
    assert_eq!((resumed.status, resumed.location.as_str()), (StatusCode::SEE_OTHER, &*page));
    scene.drive(&run).await;
    let publish = format!("/runs/{run}/publish");
    let asked = format!("{publish}?project={}", scene.project);
    assert!(visitor.page(&asked).await.contains("Open it"));
    assert!(scene.published().is_empty(), "the question did something");
    let sent = visitor.submit_to(&asked, &publish, &[project]).await;
    assert_eq!(sent.status, StatusCode::SEE_OTHER, "{}", sent.html);
    crate::models::wait_for("the run to be published", async || scene.status(&run).await["state"] == "DONE")
        .await;
    assert_eq!(scene.published().len(), 1);
    let done = visitor.page(&page).await;
    assert_eq!(buttons(&done), [""; 0], "{done}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_offer_what_the_key_may_do() {
    let scene = Scene::with(|config| config.access.required = Required::Always).await;
    let theirs = Scene::new().await;
    let (run, their_run) = (scene.ready("shop").await, theirs.start("canary").await);
    let server = TestServer::over(scene.app.clone(), modules().tools()).await;
    let key = async |scopes: &[Scope]| issue_key(&scene.app, &[&scene.project], scopes).await.1;
    let launcher = Visitor::signed_in(&server, &key(&[Scope::Launch]).await).await;
    let publisher = Visitor::signed_in(&server, &key(&[Scope::Launch, Scope::Publish]).await).await;
    let reader = Visitor::signed_in(&server, &key(&[Scope::Search]).await).await;
    let page = run_page(&scene, &run);
    assert_eq!(buttons(&launcher.page(&page).await), ["Go on", "Validate", "Cancel …"]);
    let all = ["Go on", "Validate", "Open a pull request …", "Cancel …"];
    assert_eq!(buttons(&publisher.page(&page).await), all);
    let list = format!("/runs?project={}", scene.project);
    assert!(launcher.page(&list).await.contains(">Runs</a>"));
    for path in [&page, &list] {
        let (status, html) = reader.get(path).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{html}");
        assert!(!html.contains(">Runs</a>"), "{html}");
    }
    // A caller without the right to publish is refused, even with the token of a form.
    let publish = format!("/runs/{run}/publish");
    let (token, project) = (launcher.token(&page).await, ("project", scene.project.as_str()));
    let refused = launcher.send(&publish, &[project, (TOKEN, &token)]).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN, "{}", refused.html);
    let stolen = publisher.send(&publish, &[project, (TOKEN, &token)]).await;
    assert_eq!(stolen.status, StatusCode::FORBIDDEN, "the token of another session: {}", stolen.html);
    assert!(scene.published().is_empty());
    // Another project's run is like none.
    for path in [format!("/runs/{their_run}?project={}", scene.project), run_page(&theirs, &their_run)] {
        let (status, html) = publisher.get(&path).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{html}");
        assert!(!html.contains("canary"), "{html}");
    }
    server.stop().await;

    let disabled = TestServer::start(|config| config.launch.enabled = false).await;
    let (status, html) = Visitor::without_key(&disabled).get("/runs").await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{html}");
    assert!(html.contains("MUTATION_DISABLED") && !html.contains(">Runs</a>"), "{html}");
    disabled.stop().await;
}
