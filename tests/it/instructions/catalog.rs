//! Importing, reading and removing entries.

use serde_json::{Value, json};

use super::{allow_writes, closed_app, entry, ids, import, import_arguments, sha256sum, writable_app};
use crate::harness::{app_with, call, error, project, result};
use crate::upkeep::{query_number, schema};

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_entry_does_not_stop_the_others() {
    let (app, project) = (writable_app(), project("catalog-broken"));
    let mut deprecated = entry("old", "Old.");
    deprecated["requirement"] = "deprecated".into();
    let done =
        import(&app, &project, &[entry("good", "Good."), entry("../x", "x"), deprecated], json!({})).await;
    assert_eq!(
        (&done["imported"], &done["total"], &done["changed"]),
        (&json!(1), &json!(3), &json!(1)),
        "{done:#}"
    );
    assert_eq!(ids(&done["errors"]), ["../x", "old"]);
    let listed = result(&app, "instructions_list", json!({ "project_id": project })).await;
    assert_eq!((ids(&listed["items"]), &listed["count"]), (vec!["good"], &json!(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_over_the_size_of_a_catalog_changes_nothing() {
    let app = app_with(|config| {
        allow_writes(config);
        config.instructions.catalog_bytes_max = 1000;
    });
    let project = project("catalog-size");
    let large = "x".repeat(600);
    let first = import(&app, &project, &[entry("a", &large)], json!({})).await;
    let second = import_arguments(&project, &[entry("b", "Small."), entry("c", &large)], json!({}));
    let refused = error(&app, "instructions_import", second).await;
    assert_eq!(
        (&refused["code"], &refused["details"]["bytesMax"]),
        (&json!("ILLEGAL_STATE"), &json!(1000)),
        "{refused:#}"
    );
    let listed = result(&app, "instructions_list", json!({ "project_id": project })).await;
    assert_eq!((&listed["hash"], ids(&listed["items"])), (&first["hash"], vec!["a"]));
    // Replacing frees what the old text took.
    import(&app, &project, &[entry("a", &"y".repeat(900))], json!({ "mode": "overwrite" })).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_equal_import_is_the_same_revision_and_creation_times_survive() {
    let (app, project) = (writable_app(), project("catalog-again"));
    let overwrite = || json!({ "mode": "overwrite" });
    let first = import(&app, &project, &[entry("a", "A."), entry("b", "B.")], json!({})).await;
    let before = result(&app, "instructions_get", json!({ "id": "a", "project_id": project })).await;
    let second = import(&app, &project, &[entry("a", "A."), entry("b", "B.")], overwrite()).await;
    assert_eq!((&second["overwritten"], &second["changed"]), (&json!(2), &json!(0)));
    assert_eq!((&second["hash"], &second["revision"]), (&first["hash"], &first["revision"]));
    let same = result(&app, "instructions_get", json!({ "id": "a", "project_id": project })).await;
    assert_eq!(before, same);

    let third = import(&app, &project, &[entry("a", "A, changed.")], overwrite()).await;
    assert_eq!(third["revision"].as_i64(), first["revision"].as_i64().map(|revision| revision + 1));
    let after = result(&app, "instructions_get", json!({ "id": "a", "project_id": project })).await;
    assert_eq!(after["item"]["createdAt"], before["item"]["createdAt"]);
    assert!(after["item"]["updatedAt"].as_str() > before["item"]["updatedAt"].as_str(), "{after:#}");
    let skipped = import(&app, &project, &[entry("a", "Never written.")], json!({})).await;
    assert_eq!((&skipped["skipped"], &skipped["hash"]), (&json!(1), &third["hash"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_can_compute_the_hash() {
    let (app, project) = (writable_app(), project("catalog-hash"));
    let done =
        import(&app, &project, &[entry("b", "\r\n\nSecond.\r\n"), entry("a", "First.")], json!({})).await;
    let pairs = format!("a:{}|b:{}", sha256sum("First."), sha256sum("Second."));
    assert_eq!(done["hash"], sha256sum(&pairs));
    let removed =
        result(&app, "instructions_remove", json!({ "ids": ["a", "b", "c"], "project_id": project })).await;
    assert_eq!((&removed["removed"], &removed["missing"]), (&json!(2), &json!(["c"])));
    assert_eq!(removed["hash"], sha256sum(""));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stale_hash_and_a_suspicious_prune_change_nothing() {
    let (app, project) = (writable_app(), project("catalog-guards"));
    let entries: Vec<Value> = (0..42).map(|at| entry(&format!("e{at:02}"), "x")).collect();
    let first = import(&app, &project, &entries, json!({})).await;
    let stale = import_arguments(&project, &[entry("new", "x")], json!({ "ifHash": sha256sum("") }));
    let refused = error(&app, "instructions_import", stale).await;
    assert_eq!((&refused["code"], &refused["details"]["hash"]), (&json!("ILLEGAL_STATE"), &first["hash"]));
    let prune = |extra: Value| {
        let mut arguments = import_arguments(&project, &entries[..20], extra);
        arguments["mode"] = "overwrite".into();
        arguments["prune"] = true.into();
        arguments
    };
    let refused = error(&app, "instructions_import", prune(json!({}))).await;
    assert_eq!((&refused["code"], &refused["details"]["removed"]), (&json!("ILLEGAL_STATE"), &json!(22)));
    let listed = result(&app, "instructions_list", json!({ "project_id": project })).await;
    assert_eq!((&listed["hash"], &listed["count"]), (&first["hash"], &json!(42)));
    let done = result(&app, "instructions_import", prune(json!({ "ifHash": first["hash"] }))).await;
    assert_eq!(done["removed"].as_array().map(Vec::len), Some(22));
    let skip = import_arguments(&project, &entries[..1], json!({ "prune": true }));
    assert_eq!(error(&app, "instructions_import", skip).await["code"], "INVALID_REQUEST");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stale_revision_changes_nothing_whatever_was_changed() {
    let (app, project) = (writable_app(), project("catalog-revision"));
    let first = import(&app, &project, &[entry("a", "A.")], json!({})).await;
    let mut stricter = entry("a", "A.");
    stricter["requirement"] = "critical".into();
    let with = |revision: &Value, mode: &str| json!({ "ifRevision": revision, "mode": mode });
    let second = import(&app, &project, &[stricter], with(&first["revision"], "overwrite")).await;
    assert_eq!(second["hash"], first["hash"], "the hash is that of the bodies");
    let stale = import_arguments(&project, &[entry("a", "A.")], with(&first["revision"], "overwrite"));
    let refused = error(&app, "instructions_import", stale).await;
    assert_eq!(
        (&refused["code"], &refused["details"]["revision"]),
        (&json!("ILLEGAL_STATE"), &second["revision"]),
        "{refused:#}"
    );
    let removal = json!({ "ids": ["a"], "ifRevision": first["revision"], "project_id": project });
    assert_eq!(error(&app, "instructions_remove", removal).await["code"], "ILLEGAL_STATE");
    let stored = result(&app, "instructions_get", json!({ "id": "a", "project_id": project })).await;
    assert_eq!(stored["item"]["requirement"], "critical");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_exported_is_imported_as_it_was() {
    let (app, project) = (writable_app(), project("catalog-joiners"));
    let family = "\u{1f468}\u{200d}\u{1f469}";
    let mut joined = entry("family", &format!("Greet {family}."));
    joined["title"] = format!("The {family}").into();
    // Text about an escape is not an escape.
    let mut literal = entry("literal", "Never write \\u{202e}.");
    literal["title"] = "About \\u{202e}".into();
    let first = import(&app, &project, &[joined, literal], json!({})).await;
    let exported = result(&app, "instructions_export", json!({ "project_id": project })).await;
    let items = exported["items"].as_array().unwrap();
    assert!(items[0]["body"].as_str().unwrap().contains("\\u{200d}"), "answers show joiners: {exported:#}");
    let again = import(&app, &project, items, json!({ "mode": "overwrite" })).await;
    assert_eq!(
        (&again["changed"], &again["errors"], &again["hash"]),
        (&json!(0), &json!([]), &first["hash"]),
        "{again:#}"
    );
    let mut forged = items[0].clone();
    forged["body"] = "Other \\u{200d}.".into();
    let refused = import(&app, &project, &[forged], json!({ "mode": "overwrite" })).await;
    assert_eq!(ids(&refused["errors"]), ["family"], "{refused:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nul_is_taken_out_of_texts_and_refused_elsewhere() {
    let (app, project) = (writable_app(), project("catalog-nul"));
    let mut bad_id = entry("a", "x");
    bad_id["id"] = "a\0".into();
    let mut bad_category = entry("c", "x");
    bad_category["categories"] = json!(["\0"]);
    let done = import(&app, &project, &[entry("b", "One\0two"), bad_id, bad_category], json!({})).await;
    assert_eq!(
        (&done["imported"], done["errors"].as_array().map(Vec::len)),
        (&json!(1), Some(2)),
        "{done:#}"
    );
    let got = result(&app, "instructions_get", json!({ "id": "b", "project_id": project })).await;
    assert_eq!(got["item"]["body"], "Onetwo");
    for (tool, arguments) in [
        ("instructions_get", json!({ "id": "\0" })),
        ("instructions_search", json!({ "q": "\0" })),
        ("instructions_list", json!({ "category": "\0" })),
        ("instructions_remove", json!({ "ids": ["\0"] })),
        ("instructions_export", json!({ "ids": ["\0"], "cursor": "\0" })),
        ("instructions_diff", json!({ "known": [{ "id": "\0", "sourceHash": "" }] })),
        ("usage_track", json!({ "id": "\0" })),
        ("usage_track_batch", json!({ "items": [{ "id": "\0" }] })),
    ] {
        let refused = crate::harness::try_call(&app, tool, arguments).await.unwrap_err();
        assert_eq!(refused.code().as_str(), "INVALID_REQUEST", "{tool}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_need_the_operators_permission() {
    let (closed, project) = (closed_app(), project("catalog-closed"));
    for (tool, arguments) in [
        ("instructions_import", import_arguments(&project, &[entry("a", "A")], json!({}))),
        ("instructions_remove", json!({ "ids": ["a"], "project_id": project })),
        ("instructions_reload", json!({ "project_id": project })),
        ("usage_flush", json!({ "project_id": project })),
    ] {
        let refused = error(&closed, tool, arguments).await;
        assert_eq!(refused["code"], "MUTATION_DISABLED", "{tool}");
        assert_eq!(refused["message"], "Mutation disabled. Set MCP_ENABLE_MUTATION=1 to enable.");
    }
    // Nothing was made: the project does not exist.
    assert_eq!(
        error(&closed, "instructions_list", json!({ "project_id": project })).await["code"],
        "NO_INDEX"
    );
    let off = app_with(|config| config.instructions.enabled = false);
    let refused = crate::harness::try_call(&off, "instructions_list", json!({})).await.unwrap_err();
    assert_eq!(refused.code().as_str(), "MUTATION_DISABLED");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_without_a_catalog_has_an_empty_one() {
    let (app, project) = (writable_app(), project("catalog-none"));
    result(&app, "triage_ingest", json!({ "source": "manual", "payload": [], "project_id": project })).await;
    let asked = |tool: &'static str, extra: Value| {
        let mut arguments = json!({ "project_id": project });
        for (name, value) in extra.as_object().unwrap() {
            arguments[name] = value.clone();
        }
        result(&app, tool, arguments)
    };
    let listed = asked("instructions_list", json!({})).await;
    assert_eq!((&listed["count"], &listed["hash"]), (&json!(0), &json!(sha256sum(""))));
    assert_eq!(asked("instructions_get", json!({ "id": "a" })).await, json!({ "notFound": true }));
    assert_eq!(asked("usage_track", json!({ "id": "a" })).await, json!({ "notFound": true }));
    assert_eq!(asked("gates_evaluate", json!({})).await, json!({ "notConfigured": true }));
    assert_eq!(asked("integrity_verify", json!({})).await["issueCount"], 0);
    assert_eq!(asked("usage_hotset", json!({})).await["items"], json!([]));
    assert_eq!(asked("instructions_diff", json!({ "clientHash": sha256sum("") })).await["upToDate"], true);
    let tables = format!(
        "SELECT count(*) FROM pg_tables WHERE tablename LIKE 'instruction%' AND schemaname = '{}'",
        schema(&project)
    );
    assert_eq!(query_number(&tables).await, 0, "reading creates nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_filtered_paged_and_shortened() {
    let (app, project) = (writable_app(), project("catalog-lists"));
    let mut entries: Vec<Value> =
        (0..30).map(|at| entry(&format!("e{at:02}"), &"x".repeat(20_000))).collect();
    entries[7]["categories"] = json!(["Security", "api"]);
    import(&app, &project, &entries, json!({})).await;
    let list = |extra: Value| {
        let mut arguments = json!({ "project_id": project });
        for (name, value) in extra.as_object().unwrap() {
            arguments[name] = value.clone();
        }
        call(&app, "instructions_list", arguments)
    };
    let of_category = list(json!({ "category": "SECURITY" })).await;
    assert_eq!(ids(&of_category["result"]["items"]), ["e07"]);
    assert_eq!(list(json!({ "category": "secur" })).await["result"]["count"], 0);
    let all = list(json!({})).await;
    assert_eq!(all["_meta"]["warnings"][0]["code"], "summarised");
    assert_eq!((all["result"]["items"].as_array().unwrap().len(), &all["result"]["count"]), (30, &json!(30)));
    assert!(all["result"]["items"][0].get("body").is_none());
    let (mut seen, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let page = list(json!({ "limit": 7, "fields": "full", "cursor": cursor })).await["result"].clone();
        seen.extend(ids(&page["items"]).into_iter().map(str::to_owned));
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(seen, (0..30).map(|at| format!("e{at:02}")).collect::<Vec<_>>());
    let found =
        result(&app, "instructions_search", json!({ "q": "TITLE OF E1", "project_id": project })).await;
    assert_eq!(found["count"], 10);
    let export = result(
        &app,
        "instructions_export",
        json!({ "ids": ["e03", "nope"], "metaOnly": true, "project_id": project }),
    )
    .await;
    assert_eq!((&export["items"][0]["body"], &export["missing"]), (&json!(""), &json!(["nope"])));
    assert_eq!(export["items"][0]["sourceHash"], sha256sum(&"x".repeat(20_000)));
}
