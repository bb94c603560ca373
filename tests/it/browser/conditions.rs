//! The same pages under other conditions: no scripts, a phone, a dark screen, a slow server, a lost connection, a run in progress.

use std::sync::Arc;

use contract::clock::SystemClock;
use contract::config::Layout;
use gate::app::App;
use serde_json::json;

use super::{Page, SHOP, Shop, accessibility, journey, journey_with};
use crate::blocked_embedder::BlockedEmbedder;
use crate::harness::{PROGRAM, Repository, modules, new_home, project, result, settings};
use crate::serving::TestServer;

#[tokio::test(flavor = "multi_thread")]
async fn without_scripts_everything_but_keys_and_copying_works() {
    journey_with(&[], json!({ "javaScriptEnabled": false }), async |page, shop| {
        page.go(&shop.at("/", "")).await;
        page.call("fill", json!(["#q", "counts coins"])).await;
        page.call("press", json!(["#q", "Enter"])).await;
        page.sees("mark:has-text('coins')").await;
        assert_eq!(page.count("button[data-copy]:not([hidden])").await, 0);
        page.click(".file:has-text('src/cash.py') .hit h3 a").await;
        page.sees(".l:target").await;
        page.click("a.fn:text-is('drawer')").await;
        page.sees("aside .files:has-text('src/shop.py')").await;
        page.click("text=Find a file").await;
        page.call("fill", json!(["input[name=q][aria-label='Part of a path']", "bell"])).await;
        page.click("button:has-text('Find')").await;
        page.click("text=web/bell.js").await;
        page.sees("pre:has-text('bell.ring()')").await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_phone_no_page_is_wider_than_the_screen() {
    let phone = json!({ "viewport": { "width": 360, "height": 640 }, "isMobile": true, "hasTouch": true });
    let (shop, pages) = accessibility::furnished().await;
    let page = Page::open(&shop.server.url, phone).await;
    let mut wide = Vec::new();
    for (name, path) in pages {
        page.go(&path).await;
        let width = page.eval("document.documentElement.scrollWidth").await;
        if width != 360 {
            wide.push(format!("{name} is {width} pixels wide ({path})"));
        }
    }
    assert!(wide.is_empty(), "{wide:#?}");
    // A finger opens what a mouse does.
    page.go(&shop.search("drawer")).await;
    page.call("tap", json!([".hit h3 a"])).await;
    page.arrives("/-/src/").await;
    page.close_despite("the server responded with a status of 4").await;
    shop.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pages_follow_the_colours_of_the_system() {
    journey_with(&[], json!({ "colorScheme": "dark" }), async |page, shop| {
        let colours = "['html', '.code', '.kw', 'mark', 'button'].map(it => { \
                       const style = getComputedStyle(document.querySelector(it)); \
                       return `${it} ${style.color} ${style.backgroundColor}` })";
        page.go(&shop.search("drawer")).await;
        let dark = page.eval(colours).await;
        page.call("emulateMedia", json!([{ "colorScheme": "light" }])).await;
        let light = page.eval(colours).await;
        for (dark, light) in dark.as_array().unwrap().iter().zip(light.as_array().unwrap()) {
            assert_ne!(dark, light);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_server_is_waited_for_and_the_last_query_wins() {
    journey(async |page, shop| {
        // The content can be read before the script arrives.
        page.call("hold", json!(["**/*.js"])).await;
        let address = format!("{}{}", shop.server.url, shop.search("coins"));
        page.call("goto", json!([address, { "waitUntil": "commit" }])).await;
        page.sees(".hit").await;
        assert_eq!(page.eval("document.readyState").await, "interactive");
        page.call("release", json!([])).await;
        page.arrives("q=coins").await;

        // While an answer is awaited, the page takes another query, which replaces the first. Only keys: the driver reads nothing
        // from a page that is being left.
        page.call("hold", json!(["**/*q=drawer*"])).await;
        page.press(&["/"]).await;
        page.type_text("drawer").await;
        page.press(&["Enter", "Control+a"]).await;
        page.type_text("bell").await;
        page.press(&["Enter"]).await;
        page.arrives("q=bell").await;
        page.sees("mark:has-text('bell')").await;
        page.call("release", json!([])).await;
        assert_eq!(page.eval("document.getElementById('q').value").await, "bell");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_lost_connection_loading_again_is_enough() {
    let Shop { server, repository, project, name } = Shop::open(&[], |_| {}).await;
    let page = Page::open(&server.url, json!({})).await;
    let file = format!("/p/{project}/r/{name}/-/src/cash.py");
    page.go(&file).await;
    let port = server.address().rsplit_once(':').unwrap().1.parse().unwrap();
    server.stop().await;
    // The content stays, and the browser says in its own words that there is no server.
    assert!(page.text("pre").await.contains("def drawer"));
    assert!(page.try_call("reload", json!([])).await.unwrap_err().contains("ERR_CONNECTION_REFUSED"));
    page.waits_until("location.protocol === 'chrome-error:'").await;
    let server = TestServer::start(|config| config.server.port = port).await;
    page.go(&file).await;
    page.click("a.fn:text-is('drawer')").await;
    page.sees("aside .files:has-text('src/shop.py')").await;
    page.close().await;
    server.stop().await;
    drop(repository);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_of_repositories_follows_a_run() {
    // A home of its own: servers of other tests would take the job up, and their embedders are open.
    let embedder = BlockedEmbedder::closed();
    let home = new_home("browser-run");
    let mut config = settings(&home);
    config.server.port = 0;
    let app = App::new(config, Layout::new(home), Arc::new(SystemClock), PROGRAM.into(), modules());
    let server = TestServer::over(Arc::new(app.with_embedder(embedder.clone())), modules().tools()).await;
    let (project, repository) = (project("browser-run"), Repository::new(SHOP));
    let arguments = json!({ "repoPath": repository.root(), "project_id": project, "wait": false });
    result(&server.app, "build_index", arguments).await;
    let page = Page::open(&server.url, json!({})).await;
    page.go(&format!("/repositories?project={project}")).await;
    // The test does not touch the page from here on.
    page.waits_until("document.querySelector('main')?.textContent.includes('In progress')").await;
    page.waits_until("document.querySelector('progress')?.max > 0").await;
    embedder.set_open(true);
    page.waits_until("/Last runs[^]*succeeded/.test(document.querySelector('main')?.textContent)").await;
    assert_eq!(page.count("progress, meta[http-equiv=refresh]").await, 0);
    page.close().await;
    server.stop().await;
}
