//! Pictures of the pages for the documents, made of this project's own code: `docs/developing.md` has the command.

use std::path::Path;

use serde_json::json;

use super::Page;
use crate::harness::{app_in, modules, new_home, result};
use crate::serving::TestServer;

struct Picture {
    name: &'static str,
    colour_scheme: &'static str,
    path: &'static str,
    /// Element to click before taking the picture.
    clicked: Option<&'static str>,
}

const fn picture(name: &'static str, path: &'static str) -> Picture {
    Picture { name, colour_scheme: "light", path, clicked: None }
}

const QUERY: &str = "/?q=how is a job claimed by a worker";

const PICTURES: &[Picture] = &[
    picture("search", QUERY),
    Picture { colour_scheme: "dark", ..picture("search-dark", QUERY) },
    Picture {
        clicked: Some("a.fn:text-is('try_claim')"),
        ..picture("file", "/p/default/r/engine/-/jobs/lease.rs")
    },
    picture("symbol", "/symbol?symbol=ClaimedJob"),
    picture("repositories", "/repositories"),
];

#[tokio::test(flavor = "multi_thread")]
#[ignore = "writes docs/images"]
async fn make_screenshots() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("engine");
    copy(&sources.join("crates/engine/src"), &root);
    let app = app_in(&new_home("screenshots"), |config| config.server.port = 0);
    let server = TestServer::over(app, modules().tools()).await;
    result(&server.app, "build_index", json!({ "repoPath": root })).await;
    for Picture { name, colour_scheme, path, clicked } in PICTURES {
        let options = json!({ "viewport": { "width": 1280, "height": 800 }, "colorScheme": colour_scheme });
        let page = Page::open(&server.url, options).await;
        page.go(path).await;
        if let Some(clicked) = clicked {
            page.click(clicked).await;
            page.arrives("at=").await;
        }
        let file = sources.join(format!("docs/images/{name}.png"));
        page.call("picture", json!([file])).await;
        page.close().await;
    }
    server.stop().await;
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).unwrap()),
        }
    }
}
