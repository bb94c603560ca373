//! Tests that claims are the statements of lines of the repository.

use serde_json::json;

use super::*;
use crate::claim::{ClaimKind, span_sha256};
use crate::worker::scene::{README, Scene};
use crate::worker::scout;

fn facts(scene: &mut Scene) -> ProductFacts {
    scene.run(&scout::WORKER, "").unwrap();
    scene.run(&WORKER, "").unwrap();
    serde_json::from_value(scene.json(PRODUCT_FACTS)).unwrap()
}

fn claim<'f>(facts: &'f ProductFacts, text: &str) -> &'f Claim {
    facts.claims.iter().find(|claim| claim.text == text).unwrap_or_else(|| panic!("{text}: {facts:#?}"))
}

#[test]
fn claims_cite_the_lines_that_say_them() {
    let mut scene = Scene::new();
    let facts = facts(&mut scene);
    for (text, kind) in [
        ("Counts coins and keeps sales", ClaimKind::Feature),
        ("ShopKit counts the coins in a drawer.", ClaimKind::Feature),
        ("It keeps a list of sales.", ClaimKind::Feature),
        ("The package is on the usual index.", ClaimKind::Install),
        ("Call `drawer` with the coins of one day.", ClaimKind::Workflow),
        ("Reads sales from CSV files.", ClaimKind::Format),
        ("ShopKit does not convert currencies.", ClaimKind::Limitation),
        ("`drawer` is a function in `shopkit/cash.py`.", ClaimKind::Api),
        ("Adds the values of all coins.", ClaimKind::Api),
        ("The licence of ShopKit is MIT.", ClaimKind::Other),
    ] {
        assert_eq!(claim(&facts, text).kind, kind, "{text}");
    }
    for claim in &facts.claims {
        let [citation] = &claim.citations[..] else { panic!("{claim:?}") };
        let text = &scene.repository.iter().find(|file| file.0 == citation.path).unwrap().1;
        let (first, last) = (citation.start_line as usize, citation.end_line as usize);
        let lines: Vec<&str> = text.lines().skip(first - 1).take(last + 1 - first).collect();
        assert_eq!(citation.sha256, span_sha256(&lines.join("\n")));
        if claim.kind != ClaimKind::Api && claim.kind != ClaimKind::Other {
            assert!(lines.join(" ").contains(&claim.text), "{claim:?}");
        }
    }
    assert_eq!(facts.install_commands, ["pip install shopkit"]);
    assert_eq!(facts.licence_claim.as_ref(), Some(&claim(&facts, "The licence of ShopKit is MIT.").claim_id));
    assert_eq!(facts.repository_url.as_deref(), Some("https://github.com/acme/shop"));
}

#[test]
fn of_two_claims_that_contradict_the_better_one_counts() {
    let mut scene = Scene::new();
    scene.write("docs/use.md", "# Use\n\nReads no sales from CSV files.\n\nCounts the notes of a drawer.\n\nNever counts the notes of a drawer.\n");
    let facts = facts(&mut scene);
    let reads = claim(&facts, "Reads sales from CSV files.");
    assert_eq!(reads.replaced_by, None);
    assert_eq!(claim(&facts, "Reads no sales from CSV files.").replaced_by.as_ref(), Some(&reads.claim_id));
    // Two lines of one document have the same priority.
    let (one, other) = (
        claim(&facts, "Counts the notes of a drawer."),
        claim(&facts, "Never counts the notes of a drawer."),
    );
    assert_eq!(
        (one.replaced_by.as_ref(), other.replaced_by.as_ref()),
        (Some(&other.claim_id), Some(&one.claim_id))
    );
    let map = scene.json(EVIDENCE_MAP);
    assert_eq!(map["contradictions"].as_array().unwrap().len(), 2, "{map:#}");
    assert_eq!(map["contradictions"][1]["counts"], json!(null));
}

#[test]
fn statements_that_are_untrue_out_of_context_are_not_features() {
    let mut scene = Scene::new();
    scene.write(
        "README.md",
        &format!("{README}\n- [ ] Windows support for all commands\n\n## Roadmap\n\n- Counts the notes of a drawer\n\n## Not supported\n\n- Counts the cheques of a drawer\n\n## Use\n\nShopKit does not:\n\n- Send data to third parties\n"),
    );
    let facts = facts(&mut scene);
    for text in ["Windows", "notes", "third parties"] {
        assert!(!facts.claims.iter().any(|claim| claim.text.contains(text)), "{text}: {facts:#?}");
    }
    assert_eq!(claim(&facts, "Counts the cheques of a drawer").kind, ClaimKind::Limitation);
}

#[test]
fn what_is_said_twice_is_one_claim() {
    let mut scene = Scene::new();
    scene.write("docs/use.md", "# Formats\n\nReads sales from  CSV files.\n");
    let facts = facts(&mut scene);
    let reads = claim(&facts, "Reads sales from CSV files.");
    assert_eq!(reads.citations[0].path, "README.md");
    let map = scene.json(EVIDENCE_MAP);
    assert_eq!(map["corroborations"][&reads.claim_id][0]["path"], "docs/use.md");
}

#[test]
fn a_statement_with_a_secret_is_no_claim() {
    let mut scene = Scene::new();
    scene.write("README.md", &format!("{README}\nUse TOPSECRETTOKEN for all requests.\n"));
    assert!(!facts(&mut scene).claims.iter().any(|claim| claim.text.contains("TOPSECRETTOKEN")));
}

#[test]
fn the_cited_lines_are_kept_without_secrets() {
    let mut scene = Scene::new();
    scene.write("docs/use.md", "# Use\n\nKeeps the coins of a day. The token is TOPSECRETTOKEN.\n");
    let facts = facts(&mut scene);
    let cited = scene.json(CITED_LINES);
    let lines = |text: &str| cited["claims"][&claim(&facts, text).claim_id].clone();
    let readme = lines("It keeps a list of sales.");
    assert_eq!(readme["lines"], json!(["ShopKit counts the coins in a drawer. It keeps a list of sales."]));
    assert_eq!((&readme["start_line"], readme.get("truncated")), (&json!(3), None));
    assert_eq!(lines("`drawer` is a function in `shopkit/cash.py`.")["lines"], json!(["def drawer(coins):"]));
    let hidden = lines("Keeps the coins of a day.");
    assert_eq!(hidden, json!({ "start_line": 3, "lines": [], "truncated": true }));
    assert_eq!(cited["claims"].as_object().unwrap().len(), facts.claims.len(), "all claims cite lines");
}

#[test]
fn without_an_inventory_nothing_is_collected() {
    let error = Scene::new().run(&WORKER, "").unwrap_err();
    assert_eq!(error.0.code, "FACTS_MISSING_INPUT");
}
