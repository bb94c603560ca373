//! Synchronisation of clients: differences, checksums, verification and repair.

use serde_json::{Value, json};

use super::{closed_app, entry, ids, import, sha256sum, writable_app};
use crate::harness::{error, project, result};
use crate::upkeep::{execute_sql, schema};

#[tokio::test(flavor = "multi_thread")]
async fn a_difference_is_what_the_client_lacks() {
    let (app, project) = (writable_app(), project("sync-diff"));
    let overwrite = || json!({ "mode": "overwrite" });
    let first = import(&app, &project, &[entry("a", "A"), entry("b", "B")], json!({})).await;
    let diff = |arguments: Value| {
        let mut arguments = arguments;
        arguments["project_id"] = project.clone().into();
        result(&app, "instructions_diff", arguments)
    };
    assert_eq!(diff(json!({ "clientHash": first["hash"] })).await["upToDate"], true);
    assert_eq!(ids(&diff(json!({ "clientHash": sha256sum("x") })).await["changed"]), ["a", "b"]);
    assert_eq!(ids(&diff(json!({})).await["changed"]), ["a", "b"]);
    let all_added = diff(json!({ "known": [] })).await;
    assert_eq!((ids(&all_added["added"]), &all_added["removed"]), (vec!["a", "b"], &json!([])));
    let known = json!([
        { "id": "a", "sourceHash": sha256sum("A") }, { "id": "b", "sourceHash": sha256sum("old") },
        { "id": "gone", "sourceHash": sha256sum("x") }
    ]);
    let found = diff(json!({ "known": known })).await;
    assert_eq!(
        (ids(&found["updated"]), &found["removed"], &found["added"]),
        (vec!["b"], &json!(["gone"]), &json!([]))
    );

    // A title is metadata: the hash stays, the metadata hash does not.
    let mut retitled = entry("a", "A");
    retitled["title"] = "Another title".into();
    let export = result(&app, "instructions_checksums", json!({ "project_id": project })).await;
    let second = import(&app, &project, &[retitled], overwrite()).await;
    assert_eq!((&second["hash"], &second["changed"]), (&first["hash"], &json!(1)));
    assert_eq!(diff(json!({ "clientHash": first["hash"] })).await["upToDate"], true);
    let with_meta = json!({ "clientHash": first["hash"], "clientMetaHash": export["metaHash"] });
    assert_eq!(ids(&diff(with_meta).await["changed"]), ["a", "b"]);
    let known = json!([{ "id": "a", "sourceHash": sha256sum("A"), "metaHash": sha256sum("old") },
        { "id": "b", "sourceHash": sha256sum("B") }]);
    assert_eq!(ids(&diff(json!({ "known": known })).await["updated"]), ["a"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revision_selects_the_changes_after_it() {
    let (app, project) = (writable_app(), project("sync-revision"));
    let first = import(&app, &project, &[entry("a", "A"), entry("b", "B"), entry("c", "C")], json!({})).await;
    import(
        &app,
        &project,
        &[entry("a", "A2"), entry("d", "D"), entry("e", "E")],
        json!({ "mode": "overwrite" }),
    )
    .await;
    result(&app, "instructions_remove", json!({ "ids": ["b", "e"], "project_id": project })).await;
    let since = |revision: i64| json!({ "sinceRevision": revision, "project_id": project });
    let found = result(&app, "instructions_diff", since(first["revision"].as_i64().unwrap())).await;
    assert_eq!(
        (ids(&found["added"]), ids(&found["updated"]), &found["removed"]),
        (vec!["d"], vec!["a"], &json!(["b"])),
        "{found:#}"
    );
    let refused = error(&app, "instructions_diff", since(99)).await;
    assert_eq!(refused["code"], "ILLEGAL_STATE");

    let forgetful = crate::harness::app_with(|config| {
        super::allow_writes(config);
        config.instructions.changes_keep = 1;
    });
    import(&forgetful, &project, &[entry("f", "F")], json!({})).await;
    assert_eq!(error(&app, "instructions_diff", since(1)).await["code"], "ILLEGAL_STATE");
}

#[tokio::test(flavor = "multi_thread")]
async fn buckets_find_what_changed_among_many() {
    let (app, project) = (writable_app(), project("sync-buckets"));
    let all: Vec<Value> = (0..3000)
        .map(|at| entry(&format!("rule-{at:05}"), &format!("Body {at}. {}", "x".repeat(300))))
        .collect();
    for part in all.chunks(1000) {
        import(&app, &project, part, json!({})).await;
    }
    let checksums = || result(&app, "instructions_checksums", json!({ "project_id": project }));
    let before = checksums().await;
    assert_eq!((&before["count"], before["buckets"].as_array().map(Vec::len)), (&json!(3000), Some(256)));
    let known: Vec<Value> = all
        .iter()
        .map(|entry| json!({ "id": entry["id"], "sourceHash": sha256(entry["body"].as_str().unwrap()) }))
        .collect();
    import(&app, &project, &[entry("rule-00042", "Changed.")], json!({ "mode": "overwrite" })).await;
    let after = checksums().await;
    let pairs = before["buckets"].as_array().unwrap().iter().zip(after["buckets"].as_array().unwrap());
    let changed: Vec<&str> =
        pairs.filter(|(old, new)| old != new).map(|(old, _)| old["bucket"].as_str().unwrap()).collect();
    assert_eq!(changed, [&sha256("rule-00042")[..2]]);
    let in_bucket: Vec<&Value> =
        known.iter().filter(|known| sha256(known["id"].as_str().unwrap()).starts_with(changed[0])).collect();
    let arguments = json!({ "known": in_bucket, "buckets": changed, "project_id": project });
    let found = result(&app, "instructions_diff", arguments).await;
    assert_eq!(
        (ids(&found["updated"]), &found["added"], &found["removed"]),
        (vec!["rule-00042"], &json!([]), &json!([]))
    );
    // All entries, page by page, are two hundred times as much.
    let (mut cursor, mut bytes) = (Value::Null, 0);
    loop {
        let page =
            result(&app, "instructions_diff", json!({ "cursor": cursor, "project_id": project })).await;
        bytes += page.to_string().len();
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert!(found.to_string().len() * 100 < bytes, "{} of {bytes} bytes", found.to_string().len());
}

fn sha256(text: &str) -> String {
    platform::sha256::digest_hex(text.as_bytes())
}

#[tokio::test(flavor = "multi_thread")]
async fn tampering_is_found_and_repaired() {
    let (app_open, project) = (writable_app(), project("sync-tamper"));
    import(&app_open, &project, &[entry("a", "A"), entry("b", "B")], json!({})).await;
    let verify = || result(&app_open, "integrity_verify", json!({ "project_id": project }));
    assert_eq!(verify().await["issueCount"], 0);
    let closed = closed_app();
    let repaired = result(&closed, "instructions_repair", json!({ "project_id": project })).await;
    assert_eq!(repaired, json!({ "repaired": 0, "updated": [] }), "nothing to write needs no permission");
    let table = format!("{}.instructions", schema(&project));
    execute_sql(&format!("UPDATE {table} SET body = 'Evil.' WHERE id = 'b'")).await;
    let found = verify().await;
    let issue = json!({ "id": "b", "expected": sha256sum("B"), "actual": sha256sum("Evil.") });
    assert_eq!((&found["issues"], &found["issueCount"]), (&json!([issue]), &json!(1)));
    assert_eq!(verify().await, found, "verifying changes nothing");
    let refused = error(&closed, "instructions_repair", json!({ "project_id": project })).await;
    assert_eq!(refused["code"], "MUTATION_DISABLED");
    let diff =
        json!({ "clientHash": sha256sum("x"), "clientMetaHash": sha256sum("x"), "project_id": project });
    assert_eq!(ids(&result(&closed, "instructions_repair", diff).await["changed"]), ["a", "b"]);
    let repaired = result(&app_open, "instructions_repair", json!({ "project_id": project })).await;
    assert_eq!(repaired, json!({ "repaired": 1, "updated": ["b"] }));
    let now = verify().await;
    assert_eq!(now["issueCount"], 0);
    assert_eq!(now["hash"], sha256sum(&format!("a:{}|b:{}", sha256sum("A"), sha256sum("Evil."))));

    // Fields outside the body count as well.
    execute_sql(&format!("UPDATE {table} SET requirement = 'optional' WHERE id = 'a'")).await;
    assert_eq!(ids(&verify().await["issues"]), ["a"]);
    let repaired = result(&app_open, "instructions_repair", json!({ "project_id": project })).await;
    assert_eq!(repaired["updated"], json!(["a"]));
    assert_eq!(verify().await["issueCount"], 0);
}
