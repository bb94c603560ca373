//! Sites without a run: faults of plain documents, and things that are not faults.

use super::*;

/// Checks a site by itself, which is the folder `docs` of a repository.
fn report(
    site: &[(&str, &str)],
    repository: &[(&str, &str)],
    definitions: &[(&str, u32, &str)],
) -> ValidationReport {
    let files: MemoryFiles = site.iter().copied().collect();
    let site = Site::read(&files, Some("docs"), &SiteLimits::default());
    let snippets = parsed(&site);
    let facts = evidence(Questions::new(&site, &snippets, None), repository, definitions);
    check(&GateInput {
        site: &site,
        snippets: &snippets,
        evidence: Ok(&facts),
        claims: None,
        run: None,
        secrets: &Words,
        profile: Profile::Local,
    })
}

const REPOSITORY: &[(&str, &str)] = &[
    ("LICENSE", MIT),
    ("README.md", "# Shop\n\n## Use\n\nSee [the guide](docs/guide.md) and `docs/guide.md`.\n"),
    ("Cargo.toml", "[package]\nname = \"shop-core\"\nlicense = \"MIT\"\n[[bench]]\nname = \"speed\"\n"),
    ("Makefile", "build:\n\tcargo build\n"),
    ("package.json", "{ \"scripts\": { \"dev\": \"vite\" } }"),
    ("src/lib.rs", "pub mod orders;\n"),
    (
        "src/orders.rs",
        "pub fn parse_order(text: &str) {}\npub struct OrderBook;\nimpl OrderBook { fn open() {} }\n",
    ),
    ("scripts/load.sh", "echo\n"),
    ("docs/guide.md", ""),
];

fn of_page(text: &str) -> ValidationReport {
    report(&[("guide.md", text)], REPOSITORY, &[("src/orders.rs", 2, "OrderBook")])
}

fn issues(text: &str) -> Vec<(String, Severity)> {
    let report = of_page(text);
    let issues = report.issues.iter().filter(|issue| issue.severity < Severity::Info);
    issues.map(|issue| (issue.code.clone(), issue.severity)).collect()
}

#[test]
fn ordinary_documents_have_no_issues() {
    let text = "# Guide\n\nRun `make build`, `npm run dev` or `cargo bench --bench speed`; `parse_order(text)` and `OrderBook::open()` \
        are in `src/orders.rs`. Set `HTTP_PROXY`, and see [the README](../README.md#use), [code](../src/lib.rs#L1) and \
        [elsewhere](https://example.com/x).\n\n```rust\nuse shop_core::orders::{parse_order, OrderBook};\n\
        let book = OrderBook::open();\nparse_order(\"x\");\n```\n\n```sh\n./gone.sh\ncd src && make build   # fast\n\
        git clone https://example.com/other\ncd other\nmake other\n```\n\n\
        | a | b |\n|---|---|\n| `x\\|y` | 2 |\n";
    assert!(issues(text).is_empty(), "{}", of_page(text).to_json());
    assert!(of_page(text).ok);
}

#[test]
fn a_renamed_function_makes_its_example_stale() {
    let text = "# Guide\n\n```rust\nuse shop_core::orders::parse_order;\nparse_order(\"x\");\n```\n\nCall `parse_order()`.\n";
    assert!(issues(text).is_empty(), "{}", of_page(text).to_json());
    let renamed: Vec<(&str, &str)> = REPOSITORY
        .iter()
        .map(
            |(path, text)| {
                if *path == "src/orders.rs" { (*path, "pub fn read_order() {}") } else { (*path, *text) }
            },
        )
        .collect();
    let report = report(&[("guide.md", text)], &renamed, &[]);
    let places: Vec<_> = report
        .issues
        .iter()
        .filter(|issue| issue.severity < Severity::Info)
        .map(|issue| (issue.code.as_str(), issue.severity, issue.line))
        .collect();
    assert_eq!(
        places,
        [("stale_import", Severity::Error, Some(4)), ("unknown_name", Severity::Warning, Some(8))]
    );
    assert!(!report.ok);
}

#[test]
fn what_is_gone_is_found_with_a_severity_that_fits_its_certainty() {
    for (text, code, severity) in [
        ("[x](gone.md)", "dead_link", Severity::Error),
        ("[x](gone)", "dead_link", Severity::Warning),
        ("[x](../src/gone.rs)", "dead_link", Severity::Error),
        ("[x](../README.md#gone)", "dead_anchor", Severity::Warning),
        ("[x](javascript:alert)", "code_link", Severity::Error),
        ("`src/gone.rs`", "missing_path", Severity::Warning),
        ("`make deploy`", "missing_command", Severity::Warning),
        ("`npm run deploy`", "missing_command", Severity::Warning),
        ("`cargo bench --bench gone`", "missing_command", Severity::Warning),
        ("`cargo test -p gone`", "missing_command", Severity::Warning),
        ("```sh\nsh scripts/gone.sh\n```", "missing_command", Severity::Warning),
        ("```json\n{ \"a\": }\n```", "snippet_syntax", Severity::Warning),
        ("`OrderBook::close_all()`", "unknown_name", Severity::Warning),
        ("`load_everything()`", "unknown_name", Severity::Warning),
        ("```rust\nload_everything();\n```", "stale_name", Severity::Warning),
        ("```rust\nshop_core::orders::load_everything();\n```", "stale_name", Severity::Warning),
        ("cargo install shop-cor", "install_name", Severity::Warning),
        ("__PRODUCT_NAME__", "template_token", Severity::Error),
        ("password: hunter2", "likely_secret", Severity::Warning),
        ("TOPSECRETTOKEN", "secret", Severity::Blocker),
        ("<<<<<<< HEAD", "conflict_marker", Severity::Error),
        ("a \u{202e}b", "hidden_character", Severity::Error),
        ("<script>x()</script>", "active_html", Severity::Warning),
        ("## License\n\nIt is licensed under the Apache License 2.0.", "other_licence", Severity::Error),
        (
            "```python\nimport sys\nfor a in sys.argv:\n    os.system('ls ' + a)\n```",
            "risky_example",
            Severity::Warning,
        ),
    ] {
        let text = format!("# Guide\n\n{text}\n");
        assert_eq!(issues(&text), [(code.to_owned(), severity)], "{text}: {}", of_page(&text).to_json());
    }
}

#[test]
fn names_of_other_programs_are_only_information() {
    let report = of_page("# Guide\n\n`pg_column_size` and `client.send_message()`, `Foreign::load_all()`\n");
    assert!(found(&report).is_empty(), "{}", report.to_json());
    let codes: Vec<&str> = report
        .issues
        .iter()
        .filter(|issue| issue.gate == "snippets")
        .map(|issue| issue.code.as_str())
        .collect();
    assert_eq!(codes, ["unknown_name"]);
}

#[test]
fn pages_about_the_past_may_name_what_is_gone() {
    let text =
        "# Changes\n\n`load_everything()` and `src/gone.rs` are gone.\n\n```rust\nload_everything();\n```\n";
    let report = report(&[("release-notes.md", text)], REPOSITORY, &[]);
    assert!(found(&report).is_empty(), "{}", report.to_json());
}

#[test]
fn commands_after_a_clone_run_in_what_was_cloned() {
    let codes = |folder: &str| {
        let text = format!(
            "# Guide\n\n```sh\ngit clone https://example.com/{folder}.git\ncd {folder}\nmake deploy\n```\n"
        );
        issues(&text).into_iter().map(|(code, _)| code).collect::<Vec<_>>()
    };
    assert_eq!(codes("shop"), ["missing_command"]);
    assert_eq!(codes("other"), [""; 0]);
}

#[test]
fn the_readme_of_the_repository_is_checked_with_its_documents() {
    let mut repository = REPOSITORY.to_vec();
    repository[1].1 = "# Shop\n\n[gone](docs/gone.md), `make deploy`\n";
    let report = report(&[("guide.md", "# Guide\n")], &repository, &[]);
    let codes: BTreeSet<&str> = found(&report).into_iter().map(|(_, code)| code).collect();
    assert_eq!(codes, BTreeSet::from(["missing_command", "readme_link"]));
    assert!(report.issues.iter().take(2).all(|issue| issue.path.as_deref() == Some("../README.md")));
}

#[test]
fn two_licences_and_none_are_found() {
    let licences = |manifest: &str, licence: Option<&str>| {
        let mut repository = vec![("Cargo.toml", manifest)];
        repository.extend(licence.map(|text| ("LICENSE", text)));
        let report = report(&[("guide.md", "# Guide\n")], &repository, &[]);
        found(&report).into_iter().map(|(_, code)| code.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(licences("[package]\nname = \"a\"\nlicense = \"ISC\"\n", Some(MIT)), ["licence_conflict"]);
    assert_eq!(licences("[package]\nname = \"a\"\n", None), ["no_licence"]);
    assert_eq!(licences("[package]\nname = \"a\"\nlicense = \"ISC\"\n", None), [""; 0]);
}

#[test]
fn front_matter_is_compared_with_that_of_other_pages() {
    let page = |title: &str| format!("---\n{title}\nweight: 1\n---\n# P\n");
    let pages: Vec<(String, String)> = (0..20)
        .map(|at| (format!("guide/p{at:02}.md"), page(if at == 7 { "name: x" } else { "title: x" })))
        .collect();
    let pages: Vec<(&str, &str)> = pages.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let report = report(&pages, REPOSITORY, &[]);
    let places: Vec<_> = report
        .issues
        .iter()
        .filter(|issue| issue.code == "missing_key")
        .map(|issue| issue.path.as_deref())
        .collect();
    assert_eq!(places, [Some("guide/p07.md")]);
}

#[test]
fn a_hostile_site_has_a_bounded_report() {
    let links = "[a](gone.md) ".repeat(200);
    let pages: Vec<(String, String)> =
        (0..50).map(|at| (format!("p{at}.md"), format!("# P\n\n{links}"))).collect();
    let names: Vec<String> = (0..3_000).map(|at| format!("`load_number_{at}()`")).collect();
    let many = format!("# P\n\n{}\n", names.join(" "));
    let mut all: Vec<(&str, &str)> =
        pages.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    all.push(("many.md", &many));
    let report = report(&all, REPOSITORY, &[]);
    let of = |gate: &str| report.issues.iter().filter(|issue| issue.gate == gate).count();
    assert_eq!(of("snippets"), 1_001, "the last one says that there are more");
    assert_eq!(of("internal_links"), 50, "one link on one page is one issue, however often it stands there");
    assert!(report.to_json().len() < 2_000_000);
}
