//! `launch check` over real folders: this product's own documents, a repository whose function is renamed, and folders without an
//! index.

use std::path::Path;

use launch::gate::{GATES, GENERAL_RULES};
use serde_json::{Value, json};

use crate::harness::{Repository, app, home, project, result, run_json};

/// The issues of an answer that have one of these severities, as (gate, code, path, line).
fn issues(answer: &Value, severities: &[&str]) -> Vec<(String, String, String, u64)> {
    let issues =
        answer["result"]["validation_report"]["issues"].as_array().unwrap_or_else(|| panic!("{answer:#}"));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    issues
        .iter()
        .filter(|issue| severities.contains(&issue["severity"].as_str().unwrap()))
        .map(|issue| {
            let line = issue["line"].as_u64().unwrap_or_default();
            (text(&issue["gate"]), text(&issue["code"]), text(&issue["path"]), line)
        })
        .collect()
}

/// Outcomes of the gates that did not pass, as (gate, status).
fn not_passed(answer: &Value) -> Vec<(String, String)> {
    let gates =
        answer["result"]["validation_report"]["gates"].as_array().unwrap_or_else(|| panic!("{answer:#}"));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let all = gates.iter().map(|gate| (text(&gate["gate"]), text(&gate["status"])));
    all.filter(|(_, status)| status != "passed").collect()
}

async fn index(repository: &Repository, project: &str) {
    let arguments = json!({ "repoPath": repository.root(), "project_id": project });
    result(&app(), "build_index", arguments).await;
}

/// Copies this product into a repository: documents, manifests and the code of the program whole, all other files as empty ones,
/// so that their paths exist.
fn copy_product(folder: &Path, root: &Path, repository: &Repository) -> usize {
    let mut copied = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let relative = path.strip_prefix(root).unwrap().to_str().unwrap();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_symlink() || [".git", "target", "node_modules", "__pycache__", "shared"].contains(&name) {
            continue;
        }
        if path.is_dir() {
            copied += copy_product(&path, root, repository);
            continue;
        }
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        let is_whole = match extension {
            "rs" => ["src/", "crates/", "modules/"].iter().any(|folder| relative.starts_with(folder)),
            "md" | "toml" | "sql" | "json" | "sh" | "yaml" | "yml" | "" => true,
            _ => false,
        };
        let text = std::fs::read_to_string(&path).ok().filter(|text| is_whole && text.len() < 300_000);
        repository.write(relative, &text.unwrap_or_default());
        copied += 1;
    }
    copied
}

#[tokio::test(flavor = "multi_thread")]
async fn the_documents_of_this_product_are_in_order() {
    let (repository, project) = (Repository::new(&[]), project("launch-own"));
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    assert!(copy_product(root, root, &repository) > 500);
    index(&repository, &project).await;
    let docs = repository.path().join("docs");
    let docs = docs.to_str().unwrap();
    let (sarif, badge) = (repository.path().join("out.sarif"), repository.path().join("badge.json"));
    let arguments = ["launch", "check", docs, "--project", &project, "--coverage"];
    let files = ["--sarif", sarif.to_str().unwrap(), "--badge", badge.to_str().unwrap()];
    let (code, answer) = run_json(home(), &[&arguments[..], &files].concat());
    assert_eq!(issues(&answer, &["blocker", "error"]), Vec::new(), "{answer:#}");
    assert_eq!(code, 0);
    assert!(answer["result"]["pages"].as_u64() > Some(20));
    let skipped: Vec<String> = not_passed(&answer).into_iter().map(|(gate, _)| gate).collect();
    let of_runs = ["allowed_paths", "change_budget", "site_build", "checks", "external_links"];
    assert_eq!(skipped, [&["truth_lock", "consistency"][..], &of_runs].concat());

    let coverage = &answer["result"]["coverage"];
    let (public, documented) =
        (coverage["public"].as_u64().unwrap(), coverage["documented"].as_u64().unwrap());
    assert!(public > 1_000 && documented > 10 && documented < public, "{public} {documented}");
    assert_eq!(coverage["percent"].as_u64(), Some(documented * 100 / public));
    let read = |path: &Path| serde_json::from_str::<Value>(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(read(&badge)["message"], format!("{} %", coverage["percent"]));
    let log = read(&sarif);
    assert_eq!((&log["version"], log["runs"].as_array().map(Vec::len)), (&json!("2.1.0"), Some(2)));

    // The documents name a function between backticks. It is renamed, and they are stale.
    let stale = |answer: &Value| {
        let found =
            issues(answer, &["info", "warning"]).into_iter().filter(|(_, code, ..)| code == "unknown_name");
        found.filter(|(_, _, path, _)| path == "developing.md").count()
    };
    let before = stale(&answer);
    rename_everywhere(&repository.path().join("crates"), "is_extracted", "is_taken_out");
    rename_everywhere(&repository.path().join("src"), "is_extracted", "is_taken_out");
    index(&repository, &project).await;
    let (_, answer) = run_json(home(), &["launch", "check", docs, "--project", &project]);
    assert_eq!(stale(&answer), before + 1, "{answer:#}");
}

fn rename_everywhere(folder: &Path, from: &str, to: &str) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rename_everywhere(&path, from, to);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            if text.contains(from) {
                std::fs::write(&path, text.replace(from, to)).unwrap();
            }
        }
    }
}

/// The documentation page lists what the gates find; a rule missing there could not be looked up.
#[test]
fn every_gate_and_rule_is_documented() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/launch-check.md");
    let page = std::fs::read_to_string(page).unwrap();
    let rules = GATES.iter().flat_map(|gate| gate.rules).chain(GENERAL_RULES).map(|rule| rule.code);
    for name in GATES.iter().map(|gate| gate.name).chain(rules) {
        assert!(page.contains(&format!("`{name}`")), "docs/launch-check.md does not have `{name}`");
    }
}

const PAGE: &str = "# Guide\n\n```python\nfrom shop.orders import parse_order\n\nparse_order(\"a,1\")\n```\n\nSee `shop/orders.py` and [the code](../shop/orders.py).\n";

fn shop() -> Repository {
    Repository::new(&[
        (
            "LICENSE",
            "Permission is hereby granted, free of charge, to any person obtaining a copy. THE SOFTWARE IS PROVIDED",
        ),
        ("shop/__init__.py", "\"\"\"A shop.\"\"\"\n"),
        ("shop/orders.py", "def parse_order(text):\n    return text.split(',')\n"),
        ("docs/guide.md", PAGE),
    ])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renamed_function_makes_its_example_stale() {
    let (repository, project) = (shop(), project("launch-renamed"));
    index(&repository, &project).await;
    let docs = repository.path().join("docs");
    let check = || {
        run_json(
            home(),
            &["launch", "check", docs.to_str().unwrap(), "--project", &project, "--profile", "prod"],
        )
    };
    let (code, answer) = check();
    assert_eq!((code, issues(&answer, &["blocker", "error", "warning"])), (0, Vec::new()), "{answer:#}");
    assert_eq!(answer["result"]["repository"], repository.path().file_name().unwrap().to_str().unwrap());
    repository.write("shop/orders.py", "def read_order(text):\n    return text.split(',')\n");
    index(&repository, &project).await;
    let (code, answer) = check();
    assert_eq!(code, 1);
    let found = issues(&answer, &["blocker", "error", "warning"]);
    assert_eq!(
        found,
        [("snippets".to_owned(), "stale_import".to_owned(), "guide.md".to_owned(), 4)],
        "{answer:#}"
    );
    assert_eq!(not_passed(&answer).iter().find(|(gate, _)| gate == "snippets").unwrap().1, "failed");

    // The file goes, too: link and path are stale, and what the page imports still is.
    repository.remove("shop/orders.py");
    repository.write("shop/other.py", "x = 1\n");
    index(&repository, &project).await;
    let (_, answer) = check();
    let codes: Vec<String> =
        issues(&answer, &["error", "warning"]).into_iter().map(|(_, code, ..)| code).collect();
    assert_eq!(codes, ["dead_link", "stale_import", "missing_path"], "{answer:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn links_to_what_the_index_leaves_out_are_no_faults() {
    let (repository, project) = (shop(), project("launch-left-out"));
    let links =
        "[a](../generated/api.md) [b](../third_party/x/LICENSE) [c](shared/orders.py) ![d](/img/x.png)";
    let guide = format!("{PAGE}\n{links}\n\nCreate `shop/.env.local`.\n");
    for (path, text) in [
        (".gitignore", "/generated/\n"),
        ("generated/api.md", "# API\n"),
        ("third_party/x/LICENSE", "MIT\n"),
        ("static/img/x.png", "image"),
        (".github/PULL_REQUEST_TEMPLATE.md", "[guide](../blob/main/CONTRIBUTING.md)\n"),
        ("archetypes/default.md", "---\ntitle: {{ .Name }}\n---\n"),
        ("content/page.md", "# Page\n"),
        ("docs/guide.md", guide.as_str()),
    ] {
        repository.write(path, text);
    }
    std::os::unix::fs::symlink("../shop", repository.path().join("docs/shared")).unwrap();
    index(&repository, &project).await;
    let (root, docs) = (repository.path().to_owned(), repository.path().join("docs"));
    let check = |folder: &Path| {
        run_json(home(), &["launch", "check", folder.to_str().unwrap(), "--project", &project])
    };
    for folder in [&docs, &root] {
        let (code, answer) = check(folder);
        assert_eq!((code, issues(&answer, &["blocker", "error"])), (0, Vec::new()), "{answer:#}");
        let codes: Vec<String> =
            issues(&answer, &["warning"]).into_iter().map(|(_, code, ..)| code).collect();
        assert_eq!(codes, ["missing_path"], "{answer:#}");
    }
    // A path that is not on the disk either is gone.
    repository.remove("generated/api.md");
    let (code, answer) = check(&docs);
    let codes: Vec<String> = issues(&answer, &["error"]).into_iter().map(|(_, code, ..)| code).collect();
    assert_eq!((code, codes), (1, vec!["dead_link".to_owned()]), "{answer:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_and_dangerous_examples_are_found_and_not_repeated() {
    let (repository, project) = (shop(), project("launch-secret"));
    // Put together, so that scanners do not take this file for one that has a secret.
    let token = ["ghp", "_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    repository.write("docs/secret.md", &format!("# Set up\n\nUse the token {token} to sign in.\n"));
    repository.write(
        "docs/risk.md",
        "# Run\n\n```python\nimport sys\nfor a in sys.argv:\n    os.system('ls ' + a)\n```\n",
    );
    index(&repository, &project).await;
    let docs = repository.path().join("docs");
    let (code, answer) =
        run_json(home(), &["launch", "check", docs.to_str().unwrap(), "--project", &project]);
    assert_eq!(code, 1);
    let secret = ("secrets".to_owned(), "secret".to_owned(), "secret.md".to_owned(), 3);
    assert_eq!(issues(&answer, &["blocker"]), [secret], "{answer:#}");
    let risk = ("risk_disclosure".to_owned(), "risky_example".to_owned(), "risk.md".to_owned(), 6);
    assert_eq!(issues(&answer, &["warning"]), [risk], "{answer:#}");
    assert!(!answer.to_string().contains(&token), "the answer must not have the secret");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_without_an_index_is_checked_as_far_as_possible() {
    let repository = shop();
    repository.write("docs/guide.md", &format!("{PAGE}\n[gone](gone.md)\n"));
    let docs = repository.path().join("docs");
    let docs = docs.to_str().unwrap();
    let project = project("launch-none");
    let (code, answer) = run_json(home(), &["launch", "check", docs, "--project", &project]);
    let dead = ("internal_links".to_owned(), "dead_link".to_owned(), "guide.md".to_owned(), 11);
    assert_eq!((code, issues(&answer, &["blocker", "error", "warning"])), (1, vec![dead]), "{answer:#}");
    assert!(not_passed(&answer).contains(&("licence".to_owned(), "skipped".to_owned())));
    // CI does not take that for a check.
    repository.write("docs/guide.md", "# Guide\n");
    let (code, answer) =
        run_json(home(), &["launch", "check", docs, "--project", &project, "--profile", "ci"]);
    assert_eq!(code, 1);
    assert!(not_passed(&answer).contains(&("licence".to_owned(), "failed".to_owned())), "{answer:#}");
    // A caller that names a repository wants it to be used.
    let (code, answer) =
        run_json(home(), &["launch", "check", docs, "--project", &project, "--repo", "shop"]);
    assert_eq!((code, &answer["error"]["code"]), (1, &json!("NO_INDEX")));
}

#[tokio::test(flavor = "multi_thread")]
async fn marks_of_claims_are_left_to_their_run_in_every_profile() {
    let (repository, project) = (shop(), project("launch-marked"));
    repository.write("docs/marked.md", "# Shop\n\nReads orders from CSV. <!-- claim_id: 0123abcd -->\n");
    index(&repository, &project).await;
    let docs = repository.path().join("docs");
    for profile in ["local", "ci", "prod"] {
        let (code, answer) = run_json(
            home(),
            &["launch", "check", docs.to_str().unwrap(), "--project", &project, "--profile", profile],
        );
        assert_eq!((code, issues(&answer, &["blocker", "error", "warning"])), (0, Vec::new()), "{answer:#}");
        let outcome = not_passed(&answer).into_iter().find(|(gate, _)| gate == "truth_lock");
        assert_eq!(outcome, Some(("truth_lock".to_owned(), "skipped".to_owned())), "{profile}: {answer:#}");
        let reported = issues(&answer, &["info"])
            .into_iter()
            .any(|(gate, code, ..)| gate == "truth_lock" && code == "gate_not_applicable");
        assert!(reported, "{profile}: {answer:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_site_is_refused() {
    let empty = Repository::new(&[("a.txt", "text")]);
    for path in [empty.path().join("none"), empty.path().join("a.txt"), empty.path().to_owned()] {
        let (code, answer) = run_json(home(), &["launch", "check", path.to_str().unwrap()]);
        assert_eq!((code, &answer["error"]["code"]), (2, &json!("INVALID_REQUEST")), "{answer:#}");
    }
    let (code, _) = run_json(home(), &["launch", "check", "--profile", "strict", "."]);
    assert_eq!(code, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_that_are_not_read_are_named() {
    let folder = Repository::new(&[
        ("docs/a.md", "# A\n\nText.\n"),
        ("docs/_templates/base.html", "<p>"),
        ("docs/logo.svg", ""),
    ]);
    for number in 0..78 {
        folder.write(&format!("docs/guide/{number:02}.mdx"), "# Page\n");
    }
    folder.write("docs/api.rst", "API\n===\n");
    folder.write("docs/.github/notes.mdx", "# Not a page of the site\n");
    let docs = folder.path().join("docs");
    let docs = docs.to_str().unwrap();
    let checked = |site: &str| {
        let mut command = std::process::Command::new(crate::harness::PROGRAM);
        command.args(["launch", "check", site]).env("PAIROFCLEATS_HOME", home()).env("NO_COLOR", "1");
        command.output().unwrap()
    };
    let output = checked(docs);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    assert!(
        text.contains(
            "! not read, so not checked: 78 .mdx, 1 .rst: api.rst, guide/00.mdx, guide/01.mdx and 76 more\n"
        ),
        "{text}"
    );
    assert!(text.contains("1 page (79 documents not read)"), "{text}");
    let (code, answer) = run_json(home(), &["launch", "check", docs, "--profile", "prod"]);
    let unread = answer["result"]["unread"].as_array().unwrap();
    assert_eq!((unread.len(), &unread[0]), (79, &json!("api.rst")), "{answer:#}");
    let found = issues(&answer, &["info"]);
    assert_eq!(
        found.iter().filter(|(_, code, ..)| code == "unread_documents").count(),
        1,
        "{found:?} {code}"
    );
    // Without a single page, the reason is said.
    std::fs::remove_file(folder.path().join("docs/a.md")).unwrap();
    let output = checked(docs);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(
        error.contains(
            "has no Markdown pages. It has documents in formats that are not read: 78 .mdx, 1 .rst."
        ),
        "{error}"
    );
}
