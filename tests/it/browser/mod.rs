//! Journeys through the pages in a real browser: they use keyboard and mouse as a user would, and check what the browser then shows.
//!
//! [`chromium`] gets the browser, [`page`] drives it, and [`journey`] is how a test begins: a server and an indexed repository of its
//! own, and a page on which nothing may go wrong. The other modules are the journeys. `accessibility.rs` has the list of all pages: add
//! a row there for every new page.

mod accessibility;
mod chromium;
mod conditions;
mod find;
mod page;
mod read;
mod runs;
mod screenshots;
mod session;
mod texts;

use contract::config::Config;
use serde_json::{Value, json};

use page::Page;

use crate::harness::{Repository, project, result};
use crate::serving::TestServer;

/// Files that every journey starts with: two that use each other, in a folder, and others in other languages beside it.
const SHOP: &[(&str, &str)] = &[
    (
        "src/cash.py",
        "class Till:\n    \"\"\"Keeps the coins.\"\"\"\n\n    def count(self):\n        return drawer([1, 2])\n\n\ndef drawer(coins):\n    \
         \"\"\"Counts the coins.\"\"\"\n    return sum(coins)\n",
    ),
    ("src/shop.py", "from cash import drawer\n\n\ndef open_shop():\n    return drawer([1, 2, 5])\n"),
    ("web/bell.js", "// Rings when coins fall.\nexport function ring(bell) {\n  return bell.ring();\n}\n"),
    ("docs/hours.md", "# Opening hours\n\nThe shop opens at nine and counts its coins at noon.\n"),
];

/// A server and the repository that it has indexed, in a project of its own.
struct Shop {
    server: TestServer,
    repository: Repository,
    project: String,
    /// The name of the repository.
    name: String,
}

impl Shop {
    /// Indexes [`SHOP`] and more files.
    async fn open(more: &[(&str, &str)], change: impl FnOnce(&mut Config)) -> Self {
        let server = TestServer::start(change).await;
        let repository = Repository::new(&[SHOP, more].concat());
        let project = project("browser");
        let arguments = json!({ "repoPath": repository.root(), "project_id": project });
        result(&server.app, "build_index", arguments).await;
        let name = repository.path().file_name().unwrap().to_string_lossy().into_owned();
        Self { server, repository, project, name }
    }

    /// The address of a page with parameters, in the project.
    fn at(&self, path: &str, parameters: &str) -> String {
        format!("{path}?project={}&{parameters}", self.project)
    }

    /// The address of the results of a query, which needs no escapes.
    fn search(&self, query: &str) -> String {
        self.at("/", &format!("q={query}"))
    }

    /// The address of a file, or of another page below the repository.
    fn file(&self, path: &str) -> String {
        self.below(&format!("-/{path}"))
    }

    fn below(&self, page: &str) -> String {
        format!("/p/{}/r/{}/{page}", self.project, self.name)
    }
}

/// Opens the shop and a page with options of Playwright's `newContext`, and takes the steps. Fails if anything appeared in the
/// console of the browser, a script failed, or a page asked for anything from elsewhere.
async fn journey_with(more: &[(&str, &str)], options: Value, steps: impl AsyncFnOnce(&Page, &Shop)) {
    let shop = Shop::open(more, |_| {}).await;
    let page = Page::open(&shop.server.url, options).await;
    steps(&page, &shop).await;
    page.close().await;
    shop.server.stop().await;
}

/// The same with nothing special.
async fn journey(steps: impl AsyncFnOnce(&Page, &Shop)) {
    journey_with(&[], json!({}), steps).await;
}
