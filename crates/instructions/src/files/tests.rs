//! Tests of the catalog's files.

use proptest::prelude::*;
use serde_json::json;

use super::*;

/// The last time that a text can name: jiff ends 26 hours before the year 10000, so that all time zones have it.
const CREATED_MS_MAX: i64 = 253_402_207_200_000;

/// Returns the entry as the catalog stores it.
fn stored(entry: Value, created_ms: i64) -> Stored {
    let instruction = Instruction::check(entry, &Rules::default()).unwrap().instruction;
    let (source_hash, meta_hash) = (instruction.source_hash(), instruction.meta_hash());
    Stored { instruction, source_hash, meta_hash, created_ms, updated_ms: 9 }
}

fn example() -> Stored {
    let entry = json!({ "id": "no-secrets", "title": "Keep secrets out: always", "body": "---\nNever commit keys.", "priority": 1,
        "audience": "all", "requirement": "deprecated", "deprecatedBy": "vault", "categories": ["git", "scope:web/**"],
        "rationale": "Keys leak.\n\n- often" });
    stored(entry, 1_769_258_096_789)
}

const EXAMPLE: &str = r#"---
id: no-secrets
title: "Keep secrets out: always"
priority: 1
audience: all
requirement: deprecated
categories:
  - git
  - "scope:web/**"
rationale: |-
  Keys leak.

  - often
deprecatedBy: vault
schemaVersion: "1"
sourceHash: "HASH"
createdAt: "2026-01-24T12:34:56.789Z"
---

---
Never commit keys.
"#;

#[test]
fn the_text_of_an_entry_has_one_form() {
    let hash = sha256::digest_hex(b"---\nNever commit keys.");
    assert_eq!(entry_file(&example()), EXAMPLE.replace("HASH", &hash));
    let json = entry_json(&example());
    assert!(
        json.starts_with("{\n  \"id\": \"no-secrets\",\n  \"title\": ") && json.ends_with("keys.\"\n}\n"),
        "{json}"
    );
    for text in [entry_file(&example()), json] {
        assert!(!text.contains("updatedAt") && !text.contains("usageCount") && !text.contains('\r'));
    }
}

#[test]
fn editors_and_git_may_change_line_ends() {
    let hash = sha256::digest_hex(b"---\nNever commit keys.");
    let text = format!("\u{feff}{}", EXAMPLE.replace("HASH", &hash).replace('\n', "\r\n"));
    let entry = parse_entry_file("no-secrets.md", &text).unwrap();
    assert_eq!(Instruction::check(entry, &Rules::default()).unwrap().instruction, example().instruction);
}

#[test]
fn a_body_that_was_changed_without_its_hash_is_found() {
    for name in ["no-secrets.md", "no-secrets.json"] {
        let form = if name.ends_with("md") { EntryForm::Markdown } else { EntryForm::Json };
        let (written, text) = entry_file_in(form, &example());
        assert_eq!(written, name);
        let entry = parse_entry_file(name, &text.replace("Never commit", "Always commit")).unwrap();
        let error = Instruction::check(entry, &Rules::default()).unwrap_err();
        assert!(error.contains("changed without the other"), "{error}");
    }
}

#[test]
fn people_write_less() {
    let text = "---\nid: a\ntitle: 2026\npriority: 5\naudience: all\nrequirement: optional\nusageCount: 3\n---\nText\n";
    let entry = parse_entry_file("a.md", text).unwrap();
    let instruction = Instruction::check(entry, &Rules::default()).unwrap().instruction;
    assert_eq!((instruction.title.as_str(), instruction.body.as_str()), ("2026", "Text"));
    let original = r#"{"id": "a", "title": "A", "body": "B", "priority": 5, "audience": "all", "requirement": "optional",
        "categories": [], "schemaVersion": "1", "riskScore": 3}"#;
    assert!(Instruction::check(parse_entry_file("a.json", original).unwrap(), &Rules::default()).is_ok());
}

#[test]
fn mistakes_in_a_file_are_reported() {
    let front = |fields: &str| format!("---\nid: a\n{fields}\n---\nbody\n");
    for (name, text, expected) in [
        ("a.txt", "", "not the name of an entry's file"),
        ("A.md", "", "not the name of an entry's file"),
        ("../a.md", "", "not the name of an entry's file"),
        ("gates.json", "{}", "not the name of an entry's file"),
        ("a.md", "# Title", "must begin with front matter"),
        ("a.md", "---\nid: a\nnever closed", "must begin with front matter"),
        ("b.md", &front(""), "both must be the same"),
        ("b.json", r#"{"id": "a"}"#, "both must be the same"),
        ("a.md", &front("owner: me"), "unknown field `owner`"),
        ("a.md", &front("title: [x"), "not valid YAML"),
        ("a.md", &front("id: b"), "not valid YAML"),
        ("a.md", &front("rationale: &x y\ntitle: *x"), "not valid YAML"),
        ("a.md", &front("body: x"), "given twice"),
        ("a.json", "[]", "one JSON object"),
        ("a.json", "{", "not valid JSON"),
        ("a.json", &"[".repeat(ENTRY_FILE_BYTES_MAX), "not valid JSON"),
        ("a.md", &"-".repeat(ENTRY_FILE_BYTES_MAX + 1), "bytes; at most"),
    ] {
        let error = parse_entry_file(name, text).unwrap_err();
        assert!(error.contains(expected) && error.ends_with('.') && error.len() < 600, "{name} {error}");
    }
}

#[test]
fn no_entry_takes_the_name_of_another_file() {
    assert_eq!(entry_file_name("gates", EntryForm::Json), "gates.md");
    assert_eq!(entry_file_name("gate", EntryForm::Json), "gate.json");
    assert_eq!(entry_file_id("gates.md"), Some("gates"));
    assert_eq!(entry_file_id("catalog.json"), None);
    assert_eq!(entry_file_id("README.md"), None);
}

#[test]
fn catalog_json_names_the_files_of_an_export_with_their_hashes() {
    let files = ["a.md", "b.json", "gates.json"].map(|name| (name.to_owned(), file_hash(name)));
    let file = CatalogFile {
        hash: "h".into(),
        meta_hash: "m".into(),
        count: 2,
        schema_version: "1".into(),
        files: Some(files.into()),
        ids: Vec::new(),
    };
    let text = file.to_text();
    assert!(
        text.starts_with("{\n  \"hash\": \"h\",\n  \"metaHash\": \"m\",\n  \"count\": 2,")
            && text.ends_with("}\n")
            && !text.contains("ids")
    );
    assert_eq!(CatalogFile::parse(&text.replace('\n', "\r\n")).unwrap(), file);
    for name in ["../../b.md", "README.md", "readme.md", "catalog.json", "a.txt", ".git", "A.md"] {
        let error = CatalogFile::parse(&text.replace("b.json", name)).unwrap_err();
        assert!(error.contains("no export writes"), "{name}: {error}");
    }
    let error = CatalogFile::parse(&text.replace(&file_hash("b.json"), "00")).unwrap_err();
    assert!(error.contains("no export writes"), "{error}");
    let twice = text.replace("\"b.json\"", "\"a.md\"");
    assert!(CatalogFile::parse(&twice).unwrap_err().contains("cannot be read"));
    assert!(CatalogFile::parse("{}").unwrap_err().contains("cannot be read"));
}

#[test]
fn catalog_json_of_earlier_versions_is_read() {
    let without = r#"{"hash": "h", "metaHash": "m", "count": 0, "schemaVersion": "1"}"#;
    let file = CatalogFile::parse(without).unwrap();
    assert_eq!((file.files, file.ids.len()), (None, 0));
    let with_ids = without.replace("\"count\"", "\"ids\": [\"a\", \"b\"], \"count\"");
    assert_eq!(CatalogFile::parse(&with_ids).unwrap().ids, ["a", "b"]);
    assert!(CatalogFile::parse(&with_ids.replace("\"b\"", "\"../b\"")).unwrap_err().contains("not an id"));
}

#[test]
fn line_ends_do_not_count_for_the_hash_of_a_file() {
    let text = entry_file(&example());
    assert_eq!(file_hash(&text), sha256::digest_hex(text.as_bytes()));
    assert_eq!(file_hash(&text.replace('\n', "\r\n")), file_hash(&text));
    assert_ne!(file_hash(&text.replace("Never", "Always")), file_hash(&text));
}

#[test]
fn only_a_valid_entry_is_the_entry_of_a_file() {
    for form in [EntryForm::Markdown, EntryForm::Json] {
        let (name, text) = entry_file_in(form, &example());
        assert_eq!(entry_of_file(&name, &text), Some(example().instruction));
        assert_eq!(entry_of_file(&name, &text.replace("Never commit", "Always commit")), None);
    }
    let package = r#"{"name": "package", "version": "1.0.0"}"#;
    assert!(parse_entry_file("package.json", package).is_ok(), "a file without an id");
    assert_eq!(entry_of_file("package.json", package), None);
    assert_eq!(entry_of_file("changelog.md", "# Changelog\n"), None);
    let entry = json!({ "id": "large", "title": "L", "body": "x".repeat(ENTRY_FILE_BYTES_MAX), "priority": 1, "audience": "all",
        "requirement": "optional" });
    assert!(entry_of_file("large.json", &entry.to_string()).is_some(), "an operator may allow large bodies");
}

/// Texts that a careless format would change.
fn awkward() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("---"),
        Just("\n"),
        Just("\n\n"),
        Just("  "),
        Just("\t"),
        Just("\r"),
        Just("yes"),
        Just("null"),
        Just("1.0"),
        Just("0x1F"),
        Just("id: x"),
        Just("# c"),
        Just("\"q\""),
        Just("'"),
        Just(": "),
        Just(" #"),
        Just("Ü\u{2028}\u{85}"),
        Just("\u{1}\u{7f}"),
        Just("\u{feff}"),
        Just("😀"),
        Just("- [ ]"),
        Just("{a}"),
        Just("```"),
        Just("%"),
        Just("|-"),
        Just("a"),
    ];
    proptest::collection::vec(word, 0..12).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn every_entry_comes_back_from_both_forms(
        id in "[a-z0-9][a-z0-9_-]{0,6}",
        title in awkward(),
        body in awkward(),
        rationale in proptest::option::of(awkward()),
        categories in proptest::collection::vec(awkward(), 0..4),
        priority in 1..=100u8,
        created_ms in 0..=CREATED_MS_MAX,
    ) {
        let entry = json!({ "id": id, "title": format!("x{title}"), "body": format!("{body}x"), "priority": priority,
            "audience": "group", "requirement": "critical", "rationale": rationale,
            "categories": categories.iter().map(|category| format!("{category}x")).collect::<Vec<_>>() });
        // Entries that are too long are outside the scope of this test.
        if let Ok(checked) = Instruction::check(entry.clone(), &Rules::default()) {
            let stored = stored(entry, created_ms);
            prop_assert_eq!(&checked.instruction, &stored.instruction);
            for form in [EntryForm::Markdown, EntryForm::Json] {
                let (name, text) = entry_file_in(form, &stored);
                prop_assert!(text.ends_with('\n') && !text.contains('\r'));
                let read = Instruction::check(parse_entry_file(&name, &text).unwrap(), &Rules::default());
                let read = read.map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
                prop_assert_eq!(&read.instruction, &stored.instruction);
                prop_assert_eq!(read.created_ms, Some(created_ms));
            }
        }
    }

    #[test]
    fn no_file_makes_the_parser_panic(text in "(---\n)?([a-z]{1,5}: [^\n]{0,20}\n){0,4}(---\n)?.{0,40}") {
        let _ = parse_entry_file("a.md", &text);
        let _ = parse_entry_file("a.json", &text);
        let _ = CatalogFile::parse(&text);
    }
}
