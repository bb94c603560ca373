//! A catalog moves with its project, and an archive's catalog is not trusted.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::{entry, ids, import, writable_app};
use crate::harness::{PROGRAM, home, project, result};
use crate::upkeep::{execute_sql, query_number, schema};

fn projects(arguments: &[&str]) -> (Option<i32>, Value) {
    let mut command = Command::new(PROGRAM);
    command.arg("projects").args(arguments).arg("--json").env("PAIROFCLEATS_HOME", home());
    let output = command.env_remove("DATABASE_URL").stdin(Stdio::null()).output().unwrap();
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_catalog_moves_with_its_project() {
    let (app, ours, copy) = (writable_app(), project("archive-ours"), project("archive-copy"));
    let gates = json!({ "gates": { "gates": [{ "id": "some", "severity": "error", "type": "count", "op": ">", "value": 0 }] } });
    import(&app, &ours, &[entry("a", "A"), entry("b", "B")], gates).await;
    result(&app, "usage_track", json!({ "id": "a", "project_id": ours })).await;
    result(&app, "usage_flush", json!({ "project_id": ours })).await;
    let (folder, schema_of) = (tempfile::tempdir().unwrap(), schema(&ours));
    let file = folder.path().join("a.zip").to_string_lossy().into_owned();
    let (code, exported) = projects(&["export", &ours, &file]);
    assert_eq!(code, Some(0), "{exported:#}");
    let (code, imported) = projects(&["import", &file, "--project", &copy]);
    assert_eq!(code, Some(0), "{imported:#}");
    let list = |project: &str| result(&app, "instructions_list", json!({ "project_id": project }));
    let (of_ours, of_copy) = (list(&ours).await, list(&copy).await);
    assert_eq!(of_ours, of_copy);
    assert_eq!(of_copy["items"][0]["usageCount"], 1);
    assert_eq!(result(&app, "gates_evaluate", json!({ "project_id": copy })).await["summary"]["total"], 1);
    // It can be changed there.
    import(&app, &copy, &[entry("c", "C")], json!({})).await;
    assert_eq!(ids(&list(&copy).await["items"]), ["a", "b", "c"]);

    for (at, (change, undo)) in [
        ("instructions SET id = '../' || id", "instructions SET id = substr(id, 4)"),
        ("instructions SET priority = 1000", "instructions SET priority = 50"),
        ("instructions SET title = repeat('x', 10000)", "instructions SET title = 'x'"),
        ("instruction_state SET hash = '\\x00'", "instruction_state SET hash = meta_hash"),
        ("instruction_usage SET usage_count = -1", "instruction_usage SET usage_count = 1"),
        ("instruction_usage SET id = '../' || id", "instruction_usage SET id = substr(id, 4)"),
        ("instruction_changes SET hash = '\\x00'", "instruction_changes SET hash = sha256('x')"),
    ]
    .into_iter()
    .enumerate()
    {
        execute_sql(&format!("UPDATE {schema_of}.{change}")).await;
        let file = folder.path().join(format!("{at}.zip")).to_string_lossy().into_owned();
        assert_eq!(projects(&["export", &ours, &file]).0, Some(0), "{change}");
        execute_sql(&format!("UPDATE {schema_of}.{undo}")).await;
        let victim = project("archive-victim");
        let (code, refused) = projects(&["import", &file, "--project", &victim]);
        assert_eq!(
            (code, &refused["error"]["code"]),
            (Some(1), &json!("ARCHIVE_UNSAFE")),
            "{change}: {refused:#}"
        );
        let left = format!("SELECT count(*) FROM pg_namespace WHERE nspname = '{}'", schema(&victim));
        assert_eq!(query_number(&left).await, 0, "{change}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_time_of_creation_that_is_accepted_survives_a_move() {
    let (app, ours, copy) = (writable_app(), project("archive-times"), project("archive-times-copy"));
    let created = |id: &str, at: &str| {
        let mut entry = entry(id, "Text.");
        entry["createdAt"] = at.into();
        entry
    };
    let times = [
        ("before", "1969-12-31T23:59:59.999Z"),
        ("first", "1970-01-01T00:00:00Z"),
        ("last", "9999-12-30T22:00:00Z"),
        ("never", "-009999-01-03T00:00:00Z"),
        ("zone", "1970-01-01T00:00:00+14:00"),
    ];
    let entries = times.map(|(id, at)| created(id, at));
    let imported = import(&app, &ours, &entries, json!({})).await;
    let refused: Vec<&str> =
        imported["errors"].as_array().unwrap().iter().map(|error| error["id"].as_str().unwrap()).collect();
    assert_eq!(refused, ["before", "never", "zone"], "{imported:#}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.zip").to_string_lossy().into_owned();
    let (code, exported) = projects(&["export", &ours, &file]);
    assert_eq!(code, Some(0), "{exported:#}");
    let (code, moved) = projects(&["import", &file, "--project", &copy]);
    assert_eq!(code, Some(0), "{moved:#}");
    let list = result(&app, "instructions_list", json!({ "project_id": copy })).await;
    let times: Vec<&Value> =
        list["items"].as_array().unwrap().iter().map(|item| &item["createdAt"]).collect();
    assert_eq!(times, ["1970-01-01T00:00:00.000Z", "9999-12-30T22:00:00.000Z"]);
}
