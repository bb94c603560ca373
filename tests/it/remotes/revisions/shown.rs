//! Files of revisions are shown: by their names, by hits, as resources, and on pages.

use gate::tools::browse::{READ_FILE, browse};
use gate::tools::{Caller, Request, Surface};
use serde_json::{Value, json};

use super::{PATTERNS, Shop, index, search};
use crate::harness::{Repository, error, http, project, result};
use crate::serving::TestServer;

impl Shop {
    async fn show(&self, mut arguments: Value) -> Value {
        arguments["project_id"] = json!(self.project);
        result(&self.app, "show_file", arguments).await
    }

    async fn refused(&self, mut arguments: Value) -> Value {
        arguments["project_id"] = json!(self.project);
        error(&self.app, "show_file", arguments).await
    }
}

fn text(shown: &Value) -> &str {
    shown["text"].as_str().unwrap_or_else(|| panic!("{shown:#}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_shown_as_of_a_revision() {
    let shop = Shop::indexed("shown").await;
    let head = shop.repository.head();
    for (revision, named, commit, function) in [
        ("release/1.0", "release/1.0", &shop.release, "tally_slowly"),
        (&shop.release[..8], "release/1.0", &shop.release, "tally_slowly"),
        ("v1.0", "v1.0", &shop.first, "count_drawer"),
        ("main", "main", &head, "count_drawer"),
        ("HEAD", "main", &head, "count_drawer"),
        (&head[..12], "main", &head, "count_drawer"),
    ] {
        let shown = shop.show(json!({ "file": "till.py", "revision": revision })).await;
        assert!(text(&shown).contains(function), "{revision}: {shown:#}");
        assert_eq!(
            (shown["revision"].as_str(), shown["commit"].as_str()),
            (Some(named), Some(commit.as_str()))
        );
        assert_eq!(shown["changedSinceIndexed"], false, "{revision}");
        assert_eq!(shown["chunks"][0]["name"], function, "{revision}: the parts are those of the revision");
    }
    let default = shop.show(json!({ "file": "till.py" })).await;
    assert!(default["revision"].is_null() && default["commit"].is_null(), "{default:#}");
    // Without the mirror the text comes from the index.
    let address = contract::RepositoryAddress::parse(&shop.repository.url()).unwrap().unwrap();
    std::fs::remove_dir_all(shop.app.mirrors().git_dir(&address)).unwrap();
    let shown = shop.show(json!({ "file": "till.py", "revision": "release/1.0" })).await;
    assert!(text(&shown).contains("tally_slowly") && shown["changedSinceIndexed"] == false, "{shown:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hit_is_shown_as_it_was_found() {
    let shop = Shop::indexed("passed").await;
    let found = shop.search("\"tally_slowly\" rev:release/1.0").await;
    let hit = &found["hits"][0];
    let only_id = json!({ "id": hit["id"] });
    let without_lines = json!({ "file": hit["file"], "revision": hit["commit"] });
    for arguments in [json!({ "hit": hit }), json!({ "hit": only_id }), only_id.clone(), without_lines] {
        let shown = shop.show(arguments.clone()).await;
        assert!(text(&shown).contains("tally_slowly"), "{arguments}: {shown:#}");
        assert_eq!(shown["revision"], "release/1.0", "{arguments}");
    }
    // A hit that the default branch has too, by its id, is one of the default branch.
    let found = shop.search("\"weigh_bullion\" rev:release/1.0").await;
    let by_id = shop.show(json!({ "id": found["hits"][0]["id"] })).await;
    assert!(text(&by_id).contains("weigh_bullion") && by_id["revision"].is_null(), "{by_id:#}");
    // The current content of the branch is shown, although the chunk is gone.
    let found = shop.search("\"only_in_one\" rev:release/1.0").await;
    let moved = "# moved\n\n\ndef only_in_one(coin):\n    return coin + 1\n";
    shop.repository.commit_to("release/1.0", &[("legacy.py", moved)], "Move");
    shop.refresh().await;
    let shown = shop.show(json!({ "hit": found["hits"][0] })).await;
    assert!(text(&shown).contains("# moved"), "{shown:#}");
    let gone = shop.refused(json!({ "id": found["hits"][0]["id"] })).await;
    assert_eq!(gone["code"], "NOT_FOUND", "{gone:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_revision_does_not_have_is_not_shown() {
    let shop = Shop::indexed("refused").await;
    for unknown in ["release/9", "release/*", "v1", "c0ffee"] {
        let fault = shop.refused(json!({ "file": "till.py", "revision": unknown })).await;
        assert_eq!(fault["code"], "NOT_FOUND", "{unknown}: {fault:#}");
        let hint = fault["hint"].as_str().unwrap();
        assert!(hint.starts_with("Indexed are main, release/1.0, release/2.0, v1.0."), "{hint}");
    }
    for (file, revision) in [("new.py", "v1.0"), ("legacy.py", "release/2.0"), ("legacy.py", "main")] {
        let fault = shop.refused(json!({ "file": file, "revision": revision })).await;
        assert_eq!(fault["code"], "NOT_FOUND", "{file} {revision}: {fault:#}");
        assert!(fault["message"].as_str().unwrap().contains(file), "{fault:#}");
    }
    // The files of a folder are those that are checked out.
    let (folder, id) = (Repository::new(&[("a.py", "def a():\n    return 1\n")]), project("folder"));
    result(&shop.app, "build_index", json!({ "repoPath": folder.root(), "project_id": id })).await;
    let arguments = json!({ "file": "a.py", "revision": "HEAD", "project_id": id });
    let fault = error(&shop.app, "show_file", arguments).await;
    assert_eq!(fault["code"], "INVALID_REQUEST", "{fault:#}");
    assert!(fault["message"].as_str().unwrap().contains("address"), "{fault:#}");
    let wanted = json!({ "repoPath": folder.root(), "project_id": id, "revisions": ["v*"] });
    assert_eq!(error(&shop.app, "build_index", wanted).await["code"], "INVALID_REQUEST");
    // A repository that has the revision is found among others.
    index(&shop.app, &id, &shop.repository.url(), Some(&PATTERNS)).await;
    let arguments = json!({ "file": "legacy.py", "revision": "release/1.0", "project_id": id });
    assert_eq!(result(&shop.app, "show_file", arguments).await["repo"], "shop");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resource_is_read_as_of_a_revision() {
    let shop = Shop::indexed("resource").await;
    let read = async |revision: Option<&str>| {
        let arguments = json!({ "repository": "shop", "path": "till.py", "revision": revision, "project_id": shop.project });
        let request = Request::new(READ_FILE.name, arguments, Caller::local(Surface::Http));
        serde_json::to_value(browse(&shop.app, request).await.ok().unwrap()).unwrap()
    };
    assert!(text(&read(Some("release/1.0")).await["result"]).contains("tally_slowly"));
    assert!(text(&read(None).await["result"]).contains("count_drawer"));
    assert_eq!(read(Some("v9")).await["error"]["code"], "NOT_FOUND");
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_show_revisions() {
    let shop = Shop::new("pages").await;
    let server = TestServer::start(|_| {}).await;
    index(&server.app, &shop.project, &shop.repository.url(), Some(&PATTERNS)).await;
    let page = async |path: String| {
        let answer = http().get(server.url_of(&path)).send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    let till = format!("/p/{}/r/shop/-/till.py", shop.project);
    let (status, html) = page(format!("{till}?revision=release%2F1.0")).await;
    assert_eq!(status, 200);
    assert!(html.contains("tally_slowly") && !html.contains("count_drawer"), "{html}");
    assert!(html.contains(&shop.release[..10]) && html.contains("Show the default branch"), "{html}");
    assert!(html.contains("raw/till.py?revision=release%2F1.0"), "{html}");
    assert!(!html.contains("?at="), "what names mean is known of the default branch: {html}");
    let (status, html) = page(till.clone()).await;
    assert!(status == 200 && html.contains("count_drawer") && !html.contains("default branch"), "{html}");
    assert_eq!(page(format!("{till}?revision=v9")).await.0, 404);
    let raw = format!("/p/{}/r/shop/raw/till.py", shop.project);
    assert!(page(format!("{raw}?revision=release%2F1.0")).await.1.starts_with("def tally_slowly"));
    assert!(page(raw).await.1.starts_with("def count_drawer"));

    let query = format!("/?q=%22tally_slowly%22+rev%3Arelease%2F1.0&project={}", shop.project);
    let (_, html) = page(query).await;
    assert!(html.contains(&format!("{till}?revision=release%2F1.0")), "{html}");
    assert!(html.contains("<bdi>release/1.0</bdi>"), "{html}");
    let (_, html) = page(format!("/repositories?project={}", shop.project)).await;
    assert!(html.contains("<bdi>release/1.0</bdi>") && !html.contains("revisions:"), "{html}");
    // The name of a branch is not interpreted as markup.
    shop.repository.branch("release/<b>&\"");
    index(&server.app, &shop.project, &shop.repository.url(), None).await;
    let (_, html) = page(format!("/repositories?project={}", shop.project)).await;
    assert!(html.contains("release/&lt;b&gt;&amp;") && !html.contains("release/<b>"), "{html}");
    let there =
        search(&server.app, &shop.project, json!({ "query": "type:function", "rev": "release/<b>*" })).await;
    assert_eq!(there["hits"].as_array().map(Vec::len), Some(3), "{there:#}");
    server.stop().await;
}
