//! Folders: export, import, diff, prune.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::fs::{CWD, Mode, mkfifoat};
use serde_json::json;

use super::{Files, entry_file, ids, json_of, run};
use crate::harness::{project, result};
use crate::instructions::{sha256sum, writable_app};

#[tokio::test(flavor = "multi_thread")]
async fn an_exported_folder_is_the_same_catalog_elsewhere_and_does_not_change_by_use() {
    let (one, other) = (project("cli-export"), project("cli-import"));
    // Text that Markdown, YAML and answers of tools could change: invisible characters, lines of dashes, carriage returns.
    let family =
        "Keep \u{1f468}\u{200d}\u{1f469} and \u{202e} as they are.\n\n---\n\nTrailing spaces  \nare kept.";
    let returns = json!({ "id": "returns", "title": "Zero\u{200b}width: [x] #1", "body": "a\rb", "priority": 1,
        "audience": "group", "requirement": "deprecated", "deprecatedBy": "family", "rationale": "First.\n\n- second" });
    let source = Files::new(&[
        ("family.md", &entry_file("family", "critical", family)),
        ("returns.json", &returns.to_string()),
        ("readme.json", &json!({ "id": "readme", "title": "Read me", "body": "Read it.", "priority": 2, "audience": "all",
            "requirement": "optional" }).to_string()),
        ("gates.json", r#"{"gates": [{"severity": "warn", "id": "g", "type": "count", "op": "<", "value": 9}]}"#),
        ("README.md", "About these rules."),
        ("notes.txt", "Mine."),
    ]);
    let imported = json_of(&one, &["import", source.path()]);
    assert_eq!((&imported["imported"], &imported["errors"]), (&json!(3), &json!([])));

    for (format, family_file) in [("md", "family.md"), ("json", "family.json")] {
        let folder = Files::new(&[]);
        let exported = json_of(&one, &["export", folder.path(), "--format", format]);
        assert_eq!((&exported["hash"], &exported["count"]), (&imported["hash"], &json!(3)));
        assert!(folder.read(family_file).contains(&sha256sum(family)), "the hash is that of the body");
        let back = json_of(&other, &["import", folder.path(), "--overwrite"]);
        assert_eq!((&back["hash"], &back["errors"]), (&imported["hash"], &json!([])), "{format}");
        let same = json_of(&other, &["diff", folder.path()]);
        assert_eq!(same["upToDate"], true, "{format}: {same:#}");

        let before = folder.state();
        let app = writable_app();
        for id in ["family", "returns"] {
            let used = result(&app, "usage_track", json!({ "id": id, "project_id": one })).await;
            assert_eq!(used["id"], id);
        }
        result(&app, "usage_flush", json!({ "project_id": one })).await;
        let again = json_of(&one, &["export", folder.path(), "--format", format]);
        assert_eq!((&again["written"], &again["removed"]), (&json!([]), &json!([])));
        assert_eq!(folder.state(), before, "no byte and no time changed");
    }
}

#[test]
fn a_body_that_was_changed_without_its_hash_is_an_error_that_names_it() {
    let project = project("cli-tampered");
    let source = Files::new(&[
        ("a.md", &entry_file("a", "optional", "First.")),
        ("b.md", &entry_file("b", "optional", "Second.")),
    ]);
    json_of(&project, &["import", source.path()]);
    json_of(&project, &["export", source.path()]);
    source.0.write("a.md", &source.read("a.md").replace("First.", "Another one."));
    source.0.write("b.md", &source.read("b.md").replace("Title of b", "A new title"));
    let done = run(&project, &["import", source.path(), "--overwrite"]);
    assert_eq!(done.code, 1, "{}", done.all());
    assert!(done.stdout.contains("a: `sourceHash` is"), "{}", done.stdout);
    assert!(
        done.stdout.contains("1 entry was refused") && done.stdout.contains("1 given again"),
        "{}",
        done.stdout
    );
    let entry = |id: &str| json_of(&project, &["get", id])["item"].clone();
    assert_eq!((&entry("a")["body"], &entry("b")["title"]), (&json!("First."), &json!("A new title")));
    // To overwrite on purpose, omit the hash; then the folder is not that of the last export.
    let text = source.read("a.md");
    let text: Vec<&str> = text.lines().filter(|line| !line.starts_with("sourceHash")).collect();
    source.0.write("a.md", &text.join("\n"));
    let done = run(&project, &["import", source.path(), "--overwrite"]);
    assert_eq!(done.code, 0, "{}", done.all());
    assert!(done.stderr.contains("not those of the last export"), "{}", done.stderr);
    assert_eq!(entry("a")["body"], "Another one.");
}

#[test]
fn a_folder_is_compared_pruned_and_never_loses_other_files() {
    let project = project("cli-prune");
    let entries = ["a", "b", "c"].map(|id| (format!("{id}.md"), entry_file(id, "optional", id)));
    let files: Vec<(&str, &str)> =
        entries.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let source = Files::new(&files);
    json_of(&project, &["import", source.path()]);
    source.0.remove("a.md");
    source.0.write("b.md", &entry_file("b", "optional", "Changed."));
    source.0.write("new.md", &entry_file("new", "optional", "New."));
    let differs = run(&project, &["diff", source.path(), "--json"]);
    let found = differs.result();
    assert_eq!(differs.code, 1);
    assert_eq!(
        (ids(&found["added"]), ids(&found["changed"]), ids(&found["removed"])),
        (vec!["new"], vec!["b"], vec!["a"])
    );
    assert!(run(&project, &["diff", source.path()]).stdout.contains("- a  only in the catalog"));

    // A broken file: nothing is changed.
    source.0.write("broken.md", &entry_file("broken", "sometimes", "x"));
    let refused = run(&project, &["import", source.path(), "--overwrite", "--prune"]);
    assert_eq!(refused.code, 1, "{}", refused.all());
    assert!(
        refused.stderr.contains("broken") && refused.stderr.contains("ILLEGAL_STATE"),
        "{}",
        refused.stderr
    );
    let report = run(&project, &["diff", source.path(), "--json"]).result();
    assert_eq!((&report["removed"], &report["errors"][0]["id"]), (&json!(["a"]), &json!("broken")));
    source.0.remove("broken.md");

    let stale = run(&project, &["import", source.path(), "--overwrite", "--if-hash", &sha256sum("x")]);
    assert_eq!((stale.code, stale.stderr.contains("ILLEGAL_STATE")), (1, true), "{}", stale.all());
    assert_eq!(run(&project, &["import", source.path(), "--prune"]).code, 2, "it needs --overwrite");
    let pruned = json_of(&project, &["import", source.path(), "--overwrite", "--prune"]);
    assert_eq!(pruned["removed"], json!(["a"]));
    assert_eq!(run(&project, &["diff", source.path()]).code, 0);

    // An entry that goes takes its exported file with it, and no other.
    let folder = Files::new(&[("README.md", "Mine."), ("other.md", "Mine.")]);
    json_of(&project, &["export", folder.path()]);
    let gone = run(&project, &["remove", "b", "nobody"]);
    assert_eq!((gone.code, gone.stdout.contains("There is no entry nobody.")), (1, true), "{}", gone.all());
    let exported = json_of(&project, &["export", folder.path()]);
    assert_eq!(exported["removed"], json!(["b.md"]));
    assert_eq!(folder.names(), ["README.md", "c.md", "catalog.json", "new.md", "other.md"]);

    let empty = Files::new(&[]);
    let all = run(&project, &["import", empty.path(), "--overwrite", "--prune"]);
    assert_eq!((all.code, all.stderr.contains("would remove all")), (1, true), "{}", all.all());
}

#[test]
fn many_entries_are_imported_in_parts_and_pruned_with_the_same_guard() {
    let project = project("cli-many");
    let id = |at: usize| format!("rule-{at:04}");
    let texts: Vec<(String, String)> =
        (0..2100).map(|at| (format!("{}.md", id(at)), entry_file(&id(at), "optional", "x"))).collect();
    let files: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let source = Files::new(&files);
    // The same id twice, in what would be two parts.
    source.0.write(
        "rule-0999.json",
        &json!({ "id": "rule-0999", "title": "t", "body": "y", "priority": 1, "audience": "all",
            "requirement": "optional" })
        .to_string(),
    );
    let first = run(&project, &["import", source.path(), "--json"]);
    let parts = first.envelopes();
    assert_eq!((first.code, parts.len()), (1, 3), "{}", first.stderr);
    assert!(first.stderr.contains("rule-0999: This id is given more than once"), "{}", first.stderr);
    let hash = parts[2]["result"]["hash"].as_str().unwrap().to_owned();
    source.0.remove("rule-0999.json");

    for at in 1010..2100 {
        source.0.remove(&format!("{}.md", id(at)));
    }
    let prune = ["import", source.path(), "--overwrite", "--prune"];
    let refused = run(&project, &prune);
    assert_eq!(refused.code, 1, "{}", refused.all());
    assert!(refused.stderr.contains("would remove 1090 of 2100 entries"), "{}", refused.stderr);
    source.0.write("broken.md", &entry_file("broken", "sometimes", "x"));
    let confirmed = [&prune[..], &["--if-hash", &hash]].concat();
    let broken = run(&project, &confirmed);
    assert_eq!((broken.code, broken.stderr.contains("broken")), (1, true), "{}", broken.all());
    source.0.remove("broken.md");
    let listed = run(&project, &["list"]).stdout;
    assert!(listed.ends_with("\n2100 entries\n") && listed.contains("rule-2099"), "nothing was changed");

    let done = run(&project, &confirmed);
    assert_eq!(done.code, 0, "{}", done.all());
    assert!(done.stdout.contains("1010 entries") && done.stdout.contains("1090 removed"), "{}", done.stdout);
    assert_eq!(json_of(&project, &["diff", source.path()])["upToDate"], true);
}

#[test]
fn links_and_pipes_in_a_folder_are_neither_read_nor_written() {
    let project = project("cli-links");
    let outside = Files::new(&[("secret.md", &entry_file("secret", "optional", "Secret."))]);
    let source = Files::new(&[("a.md", &entry_file("a", "optional", "A."))]);
    json_of(&project, &["import", source.path()]);
    symlink(Path::new(outside.path()).join("secret.md"), Path::new(source.path()).join("secret.md")).unwrap();
    let linked = run(&project, &["import", source.path()]);
    assert_eq!(linked.code, 1);
    assert!(linked.stderr.contains("secret.md") && linked.stderr.contains("link"), "{}", linked.stderr);
    source.0.remove("secret.md");
    mkfifoat(CWD, Path::new(source.path()).join("pipe.md"), Mode::RWXU).unwrap();
    let piped = run(&project, &["import", source.path()]);
    assert_eq!((piped.code, piped.stderr.contains("pipe.md")), (1, true), "{}", piped.stderr);

    let target = Files::new(&[]);
    symlink(Path::new(outside.path()).join("secret.md"), Path::new(target.path()).join("a.md")).unwrap();
    let refused = run(&project, &["export", target.path()]);
    assert_eq!((refused.code, refused.stderr.contains("a.md")), (1, true), "{}", refused.all());
    assert_eq!(target.names(), ["a.md"], "nothing was written");
    assert!(outside.read("secret.md").contains("Secret."));
    fs::remove_file(Path::new(target.path()).join("a.md")).unwrap();
    mkfifoat(CWD, Path::new(target.path()).join("a.md"), Mode::RWXU).unwrap();
    assert_eq!(run(&project, &["export", target.path()]).code, 1);
}

#[test]
fn an_export_loses_no_file_that_a_person_wrote_or_changed() {
    let project = project("cli-foreign");
    let entries =
        ["changelog", "keep", "package"].map(|id| (format!("{id}.md"), entry_file(id, "optional", id)));
    let files: Vec<(&str, &str)> =
        entries.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    json_of(&project, &["import", Files::new(&files).path()]);

    // Files of a person that are named as entries, which a catalog.json from elsewhere calls its own.
    let theirs =
        Files::new(&[("changelog.md", "# Changelog\n"), ("package.json", "{\"name\": \"package\"}")]);
    let refused = run(&project, &["export", theirs.path(), "--format", "json"]);
    assert_eq!(
        (refused.code, refused.stderr.contains("package.json: it is not")),
        (1, true),
        "{}",
        refused.all()
    );
    let listed = json!({ "hash": "", "metaHash": "", "count": 2, "schemaVersion": "1", "ids": ["changelog", "package"] });
    let hashes = ["changelog.md", "package.json"].map(|name| (name, json!(sha256sum(&theirs.read(name)))));
    let hashes: serde_json::Map<_, _> =
        hashes.into_iter().map(|(name, hash)| (name.to_owned(), hash)).collect();
    let with_hashes =
        json!({ "hash": "", "metaHash": "", "count": 2, "schemaVersion": "1", "files": hashes });
    for hostile in [listed, with_hashes] {
        theirs.0.write("catalog.json", &hostile.to_string());
        let refused = run(&project, &["export", theirs.path()]);
        assert_eq!((refused.code, refused.stderr.contains("changelog.md")), (1, true), "{}", refused.all());
        let other = crate::harness::project("cli-foreign-other");
        json_of(&other, &["import", Files::new(&[("x.md", &entry_file("x", "optional", "x"))]).path()]);
        let exported = json_of(&other, &["export", theirs.path()]);
        assert_eq!(exported["removed"], json!([]), "{exported:#}");
        assert_eq!(theirs.names(), ["catalog.json", "changelog.md", "package.json", "x.md"]);
        theirs.0.remove("x.md");
    }

    // Beside our own files: one with the id of an entry, and one that a member of the team edited.
    let ours = Files::new(&[("keep.json", "{\"mine\": true}")]);
    json_of(&project, &["export", ours.path()]);
    json_of(&project, &["export", ours.path()]);
    assert_eq!(ours.read("keep.json"), "{\"mine\": true}");
    ours.0.write("keep.md", &ours.read("keep.md").replace("Title of keep", "Keep it"));
    let refused = run(&project, &["export", ours.path()]);
    assert_eq!(refused.code, 1, "{}", refused.all());
    assert!(refused.stderr.contains("keep.md: it has changes that"), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("import") && refused.stderr.contains("--overwrite"),
        "{}",
        refused.stderr
    );
    assert!(ours.read("keep.md").contains("Keep it"));
    ours.0.remove("keep.json");
    json_of(&project, &["import", ours.path(), "--overwrite"]);
    json_of(&project, &["export", ours.path()]);
    assert!(ours.read("keep.md").contains("Keep it"));
    ours.0.write("keep.md", &ours.read("keep.md").replace("Keep it", "Not imported"));
    assert_eq!(run(&project, &["remove", "keep", "package"]).code, 0);
    let exported = json_of(&project, &["export", ours.path()]);
    assert_eq!((&exported["removed"], &exported["kept"]), (&json!(["package.md"]), &json!(["keep.md"])));
    assert!(ours.read("keep.md").contains("Not imported"));
}

#[test]
fn json_has_no_character_that_a_terminal_obeys() {
    let project = project("cli-controls");
    let body = "a\u{9b}31m\u{7f}\u{85}b";
    let hostile = json!({ "id": "a", "title": "A", "body": body, "priority": 1, "audience": "all", "requirement": "optional" });
    json_of(&project, &["import", Files::new(&[("a.json", &hostile.to_string())]).path()]);
    let shown = run(&project, &["get", "a", "--json"]);
    assert!(!shown.stdout.trim_end().contains(char::is_control), "{:?}", shown.stdout);
    assert_eq!(shown.result()["item"]["body"], body);
}
