//! The artifacts of runs can be read: as text or base64, in parts, and as files.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use platform::sha256;
use serde_json::{Value, json};

use super::{Scene, code, workers};
use crate::harness::{error, http, modules, result};
use crate::serving::TestServer;

#[tokio::test(flavor = "multi_thread")]
async fn artifacts_come_as_text_or_base64_with_the_hash_of_the_whole() {
    let scene = Scene::new().await;
    let run = scene.ready("shop").await;
    scene.result("launch_open_pr", &run).await;
    let read = async |artifact_name: &str| {
        let arguments = json!({ "run_id": run, "artifact_name": artifact_name, "bytes_max": 262_144,
            "project_id": scene.project });
        result(&scene.app, "launch_get_artifact", arguments).await["artifact"].take()
    };
    let plan = read("page_plan.json").await;
    assert_eq!((&plan["content_type"], &plan["encoding"]), (&json!("application/json"), &json!("utf-8")));
    let content = plan["content"].as_str().unwrap();
    assert_eq!(plan["sha256"], sha256::digest_hex(content.as_bytes()));
    assert!(serde_json::from_str::<Value>(content).unwrap()["pages"].is_array());
    let evidence = read("evidence.zip").await;
    assert_eq!(
        (&evidence["content_type"], &evidence["encoding"]),
        (&json!("application/zip"), &json!("base64"))
    );
    let bytes = STANDARD.decode(evidence["content"].as_str().unwrap()).unwrap();
    assert_eq!(evidence["sha256"], sha256::digest_hex(&bytes));
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(bytes)).unwrap();
    let names: Vec<String> = archive.file_names().map(|name| name.unwrap().into_owned()).collect();
    for name in ["events.ndjson", "snapshot.json", "page_plan.json", "drafts/docs.md", "pr.json"] {
        assert!(names.contains(&name.to_owned()), "{name} is not in {names:?}");
    }
    let log = std::io::read_to_string(archive.by_name("events.ndjson").unwrap()).unwrap();
    assert!(log.lines().count() > 30 && log.contains("PR_OPENED"), "{log}");
    let listed = scene.status(&run).await["artifacts"].clone();
    let listed = listed.as_array().unwrap().iter().find(|one| one["name"] == "page_plan.json").unwrap();
    assert_eq!(listed["sha256"], plan["sha256"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_names_are_answered_with_the_available_ones() {
    let scene = Scene::new().await;
    let run = scene.start("shop").await;
    for name in ["../x", "/etc/passwd", "page_plan.json", "", "run_config.json/x"] {
        let arguments = json!({ "run_id": run, "artifact_name": name, "project_id": scene.project });
        let refused = error(&scene.app, "launch_get_artifact", arguments).await;
        assert_eq!(code(&refused), "INVALID_INPUT", "{name}: {refused:#}");
        assert_eq!(
            refused["details"]["available_artifacts"],
            json!(["run_config.json"]),
            "{name}: {refused:#}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_artifact_comes_in_parts_and_as_a_file() {
    let scene = Scene::new().await;
    let run = scene.ready("bulky").await;
    let (mut whole, mut offset, mut parts) = (String::new(), json!(0), 0);
    loop {
        let arguments = json!({ "run_id": run, "artifact_name": "bulk.md", "offset": offset, "bytes_max": 262_143,
            "project_id": scene.project });
        let part = result(&scene.app, "launch_get_artifact", arguments).await["artifact"].take();
        whole.push_str(part["content"].as_str().unwrap());
        parts += 1;
        match part.get("next_offset") {
            Some(next) => offset = next.clone(),
            None => break,
        }
    }
    assert!(whole == workers::bulk(), "{} bytes in {parts} parts", whole.len());
    assert!(parts > 12, "{parts}");

    let server = TestServer::over(scene.app.clone(), modules().tools()).await;
    let url = |name: &str| {
        server.url_of(&format!("/launch/runs/{run}/artifacts/{name}?project_id={}", scene.project))
    };
    let file = http().get(url("bulk.md")).send().await.unwrap();
    let header = |name: &str| file.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(
        (header("content-type"), header("x-content-type-options")),
        ("text/markdown".into(), "nosniff".into())
    );
    assert_eq!(header("content-disposition"), "attachment; filename=\"bulk.md\"");
    let tag = header("etag");
    assert_eq!(tag, format!("W/\"{}\"", sha256::digest_hex(whole.as_bytes())));
    assert!(file.text().await.unwrap() == whole, "the file is not the artifact");
    let known = http().get(url("bulk.md")).header("if-none-match", tag).send().await.unwrap();
    assert_eq!(known.status(), 304);
    let nested = http().get(url("drafts/docs.md")).send().await.unwrap();
    assert_eq!(nested.headers()["content-disposition"], "attachment; filename=\"docs.md\"");
    let missing = http().get(url("drafts/none.md")).send().await.unwrap();
    assert_eq!(missing.status(), 400);
    let missing: Value = missing.json().await.unwrap();
    assert_eq!(code(&missing["error"]), "INVALID_INPUT", "{missing:#}");
    server.stop().await;
}
