//! Lists that show revisions, and lists that must not: those of repositories, files, names and values are about the default branch.

use gate::tools::browse::{COMPLETE, COMPLETE_QUERY, LIST_FILES, LIST_FOLDER, SEARCH_PAGE, browse};
use gate::tools::{Caller, Request, Surface, ToolSpec};
use serde_json::{Value, json};

use super::Shop;
use crate::harness::{call, error, result};

/// Texts that only revisions have, and the root of the repository that has them.
const UNSEEN: [&str; 6] = ["revisions:", "legacy", "future.py", "only_in_one", "only_in_two", "tally_slowly"];

fn assert_unseen(label: &str, answer: &Value) {
    assert_eq!(answer["ok"], true, "{label}: {answer:#}");
    let text = answer["result"].to_string();
    for word in UNSEEN {
        assert!(!text.contains(word), "{label} shows {word}: {answer:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_status_lists_revisions_and_patterns() {
    let shop = Shop::indexed("status").await;
    let status = result(&shop.app, "index_status", json!({ "project_id": shop.project })).await;
    assert_eq!(status["repositories"].as_array().map(Vec::len), Some(1), "{status:#}");
    let repository = &status["repositories"][0];
    assert_eq!(repository["revisionPatterns"], json!(["release/*", "v*"]));
    let revisions = repository["revisions"].as_array().unwrap();
    let of = |name: &str| revisions.iter().find(|revision| revision["name"] == name).unwrap();
    assert_eq!(revisions.len(), 3, "{status:#}");
    assert_eq!(
        of("release/1.0"),
        &json!({ "name": "release/1.0", "kind": "branch", "commit": shop.release })
    );
    assert_eq!(of("v1.0"), &json!({ "name": "v1.0", "kind": "tag", "commit": shop.first }));
    assert_eq!(of("release/2.0")["kind"], "branch");
    // The numbers are those of the default branch.
    assert_eq!(
        (&status["files"], &repository["files"], &status["vectorsPending"]),
        (&json!(4), &json!(4), &json!(0))
    );
    assert_eq!(status["chunks"], repository["chunks"]);
    // A repository without other revisions says nothing of them.
    let bank = shop.host.repository("acme/bank");
    bank.commit(&[("vault.py", "def open_vault(code):\n    return code == 7\n")], "Begin");
    super::index(&shop.app, &shop.project, &bank.url(), None).await;
    let arguments = json!({ "repoPath": "bank", "project_id": shop.project });
    let status = result(&shop.app, "index_status", arguments).await;
    let bank = &status["repositories"][0];
    assert!(bank["revisions"].is_null() && bank["revisionPatterns"].is_null(), "{status:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_about_the_default_branch() {
    let shop = Shop::indexed("listed").await;
    let id = || json!(shop.project);
    for (tool, arguments) in [
        ("index_status", json!({ "project_id": id() })),
        ("workspace_status", json!({ "project_id": id() })),
        ("report_artifacts", json!({ "project_id": id() })),
        ("clean_artifacts", json!({ "all": true, "dryRun": true, "project_id": id() })),
        ("search", json!({ "query": "only_in_on", "project_id": id() })),
        ("search", json!({ "query": "coins type:function", "output": "full", "project_id": id() })),
        ("search_code", json!({ "query": "return a coin", "project_id": id() })),
        ("navigate", json!({ "symbol": "count_drawer", "relation": "references", "project_id": id() })),
    ] {
        assert_unseen(&format!("{tool} {arguments}"), &call(&shop.app, tool, arguments).await);
    }
    let unknown = json!({ "symbol": "only_in_one", "project_id": shop.project });
    assert_eq!(error(&shop.app, "navigate", unknown).await["code"], "NOT_FOUND");
    let unknown = json!({ "file": "legacy.py", "project_id": shop.project });
    assert_eq!(error(&shop.app, "show_file", unknown).await["code"], "NOT_FOUND");

    let shown = |kind: &str, value: &str| json!({ "kind": kind, "value": value, "project_id": id() });
    let operations: [(&ToolSpec, Value); 10] = [
        (LIST_FILES, json!({})),
        (LIST_FOLDER, json!({ "repository": "shop", "project_id": id() })),
        (COMPLETE, shown("path", "")),
        (COMPLETE, shown("path", "leg")),
        (COMPLETE, shown("repository", "")),
        (COMPLETE_QUERY, json!({ "query": "only_in", "project_id": id() })),
        (COMPLETE_QUERY, json!({ "query": "path:leg", "project_id": id() })),
        (COMPLETE_QUERY, json!({ "query": "calls:l", "project_id": id() })),
        (COMPLETE_QUERY, json!({ "query": "repo:", "project_id": id() })),
        (SEARCH_PAGE, json!({ "query": "coin", "project_id": id() })),
    ];
    for (operation, arguments) in operations {
        let caller = Caller { project: Some(shop.project.clone()), ..Caller::local(Surface::Http) };
        let label = format!("{} {arguments}", operation.name);
        let answer = browse(&shop.app, Request::new(operation.name, arguments, caller)).await;
        let answer = answer.unwrap_or_else(|refusal| panic!("{label}: {}", refusal.to_fault()));
        assert_unseen(&label, &serde_json::to_value(answer).unwrap());
    }
    // A search on a revision counts its values, and no others.
    let arguments = json!({ "query": "type:function rev:release/1.0", "project_id": shop.project });
    let request = Request::new(SEARCH_PAGE.name, arguments, Caller::local(Surface::Http));
    let answer = browse(&shop.app, request).await;
    let answer = answer.unwrap_or_else(|refusal| panic!("{}", refusal.to_fault()));
    let answer = serde_json::to_value(answer).unwrap();
    assert_eq!(answer["result"]["total"], 3, "{answer:#}");
    assert!(!answer["result"]["facets"].to_string().contains("revisions:"), "{answer:#}");
}
