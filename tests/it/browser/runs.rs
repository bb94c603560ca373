//! Journeys through launch runs: mending and publishing one, thinking twice about ending one, narrow screens, hostile names.

use serde_json::json;

use super::Page;
use crate::launch::Scene;
use crate::serving::TestServer;

use crate::harness::modules;

/// Becomes markup or a script wherever it is not escaped, and then sets `stolen`.
const HOSTILE: &str = "Shop</title></pre><script>stolen=1</script>\"'><img src=x onerror=stolen=2>";

/// Opens a page on a server over the scene, takes the steps, and closes both. Fails if anything went wrong in the browser.
async fn journey(scene: &Scene, options: serde_json::Value, steps: impl AsyncFnOnce(&Page)) {
    let server = TestServer::over(scene.app.clone(), modules().tools()).await;
    let page = Page::open(&server.url, options).await;
    steps(&page).await;
    page.close().await;
    server.stop().await;
}

fn list(scene: &Scene) -> String {
    format!("/runs?project={}", scene.project)
}

/// Waits until the page shows so many blockers, as it does by itself when the job has ended.
async fn sees_blockers(page: &Page, count: usize) {
    page.waits_until(&format!("document.querySelectorAll('.badge.critical').length === {count}")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_mended_and_published() {
    let scene = Scene::new().await;
    let run = scene.start("faulty").await;
    scene.drive(&run).await;
    journey(&scene, json!({}), async |page| {
        page.go(&list(&scene)).await;
        page.sees("td:has-text('VALIDATING')").await;
        page.click("nav a:text-is('Runs')").await;
        page.click("th a:has-text('faulty')").await;
        page.arrives(&format!("/runs/{run}")).await;
        for left in [1, 0] {
            sees_blockers(page, left + 1).await;
            page.click("button:has-text('Fix the next issue')").await;
            sees_blockers(page, left).await;
        }
        page.sees("li[aria-current=step]:has-text('READY_FOR_PR')").await;
        page.click("a:has-text('drafts/docs.md')").await;
        page.sees("pre:has-text('About docs')").await;
        page.click("a:text-is('The run')").await;
        page.click("button:has-text('Open a pull request')").await;
        page.arrives("/publish").await;
        assert!(scene.published().is_empty(), "the question published");
        page.click("button:text-is('Open it')").await;
        page.sees("li[aria-current=step]:has-text('DONE')").await;
        page.sees("dd code:has-text('launch/')").await;
    })
    .await;
    assert_eq!(scene.published(), [format!("launch/{run}/faulty")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_asks_first_and_needs_no_script() {
    let scene = Scene::new().await;
    let run = scene.start("shop").await;
    journey(&scene, json!({ "javaScriptEnabled": false }), async |page| {
        let path = format!("/runs/{run}?project={}", scene.project);
        page.go(&path).await;
        page.click("button:has-text('Cancel')").await;
        page.sees("h1:text-is('Cancel this run?')").await;
        page.click("a:text-is('Keep it')").await;
        page.sees("li[aria-current=step]:has-text('CREATED')").await;
        assert_eq!(scene.status(&run).await["state"], "CREATED", "the question cancelled the run");
        page.click("button:has-text('Cancel')").await;
        page.click("button:text-is('Cancel the run')").await;
        page.sees("strong:text-is('CANCELLED')").await;
    })
    .await;
    assert_eq!(scene.status(&run).await["state"], "CANCELLED");
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_runs_fit_a_narrow_screen_are_accessible_and_run_nothing() {
    let scene = Scene::new().await;
    let mut config = scene.config("faulty");
    config["product_name"] = HOSTILE.into();
    let run = scene.start_with(config).await;
    scene.drive(&run).await;
    let ready = scene.ready("a-product-with-a-rather-long-name-that-has-to-wrap-somewhere").await;
    let failed = scene.start("broken").await;
    scene.drive(&failed).await;
    let at = |path: &str| format!("/runs{path}?project={}", scene.project);
    let pages = [
        at(""),
        format!("{}&state=VALIDATING", at("")),
        format!("{}&product=none", at("")),
        at(&format!("/{run}")),
        at(&format!("/{ready}")),
        at(&format!("/{failed}")),
        at(&format!("/{run}/cancel")),
        at(&format!("/{ready}/publish")),
        at(&format!("/{run}/artifacts/run_config.json")),
        at(&format!("/{run}/artifacts/drafts/docs.md")),
    ];
    let mut wrong = Vec::new();
    let server = TestServer::over(scene.app.clone(), modules().tools()).await;
    for colours in ["light", "dark"] {
        let phone =
            json!({ "viewport": { "width": 320, "height": 640 }, "isMobile": true, "colorScheme": colours });
        let page = Page::open(&server.url, phone).await;
        for path in &pages {
            assert_eq!(page.go(path).await, 200, "{path}");
            assert_eq!(page.eval("typeof stolen").await, "undefined", "{path}");
            assert_eq!(page.count("img, svg, script:not([src^='/assets/'])").await, 0, "{path}");
            let width = page.eval("document.documentElement.scrollWidth").await;
            if width != 320 {
                wrong.push(format!("{path} is {width} pixels wide"));
            }
            page.press(&["Tab"]).await;
            wrong.extend(page.violations().await.iter().map(|rule| format!("{colours} {path}: {rule}")));
        }
        page.close().await;
    }
    server.stop().await;
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
