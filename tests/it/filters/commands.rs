//! Filters on the command line: one flag for each kind of value, through the real program.

use std::process::Command;

use serde_json::{Value, json};

use super::shop::{IndexedProject, hit_files};
use crate::harness::{PROGRAM, app, home};

#[tokio::test(flavor = "multi_thread")]
async fn flags_filter_like_arguments() {
    let shop = IndexedProject::shop(app(), "commands").await;
    for (flags, arguments) in [
        (&["--path", "billing", "--path", "web"][..], json!({ "path": ["billing", "web"] })),
        (&["--lang", "py,go"], json!({ "lang": "py,go" })),
        (&["--return-type", "receipt"], json!({ "returnType": "receipt" })),
        (&["--async", "--generator=false"], json!({ "async": true, "generator": false })),
        (&["--churn", "20"], json!({ "churnMin": 20 })),
        (&["--meta", "title", "--meta", "owner.team=desk"], json!({ "meta": ["title", "owner.team=desk"] })),
        (&["--meta-json", r#"{"audience":"partners"}"#], json!({ "metaJson": { "audience": "partners" } })),
    ] {
        let mut arguments = arguments;
        arguments["ann"] = json!(false);
        let expected = shop.search("order", arguments).await;
        assert!(!hit_files(&expected).is_empty(), "{flags:?}");
        assert_eq!(search_by_command(&shop, flags)["result"]["hits"], expected["hits"], "{flags:?}");
    }
    let refused = search_by_command(&shop, &["--lang", "rusty"]);
    assert_eq!(refused["error"]["code"], "INVALID_REQUEST", "{refused:#}");
}

/// The envelope that the program prints for `search order` with these flags. The search is lexical only, because the
/// project was not indexed with the program's own model.
fn search_by_command(shop: &IndexedProject, flags: &[&str]) -> Value {
    let mut command = Command::new(PROGRAM);
    command.env("PAIROFCLEATS_HOME", home()).env_remove("DATABASE_URL");
    command.args(["search", "order", "--json", "--no-ann", "--mode", "all", "--top", "100"]);
    let output = command.args(["--project", &shop.project]).args(flags).output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    serde_json::from_str(&stdout).unwrap_or_else(|error| {
        panic!("{flags:?}: {error}: {stdout}{}", String::from_utf8_lossy(&output.stderr))
    })
}
