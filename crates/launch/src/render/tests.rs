//! Tests of the form of pages: every line of them is a claim or states nothing.

use super::*;
use crate::claim::{ClaimKind, Claims, claim_id};
use crate::config::Section;
use crate::site::Page;

const NAME: &str = "ShopKit";

fn claim(text: &str) -> Claim {
    Claim {
        claim_id: claim_id(text, ClaimKind::Feature, Some(NAME)),
        text: text.to_owned(),
        kind: ClaimKind::Feature,
        citations: Vec::new(),
        replaced_by: None,
    }
}

fn plan(items: Vec<PlanItem>) -> PlanPage {
    PlanPage {
        section: Section::Docs,
        output_path: "content/docs/a.md".to_owned(),
        required_headings: Vec::new(),
        title: "About *ShopKit*".to_owned(),
        format: None,
        front_matter: BTreeMap::new(),
        blocks: vec![PlanBlock { level: 2, heading: "Use".to_owned(), is_code: false, items }],
    }
}

#[test]
fn a_page_consists_of_claims_code_and_lines_of_templates() {
    let claims = [claim("Reads `x_y` and a_b of SHOPKIT."), claim("Writes files.")];
    let ids: Vec<String> = claims.iter().map(|claim| claim.claim_id.clone()).collect();
    let claims: BTreeMap<String, Claim> =
        claims.into_iter().map(|claim| (claim.claim_id.clone(), claim)).collect();
    let code = CatalogSnippet {
        sha256: "s".to_owned(),
        path: "a.py".to_owned(),
        start_line: 1,
        language: "python".to_owned(),
        code: "f(1)\n".to_owned(),
    };
    let snippets = BTreeMap::from([("s".to_owned(), code)]);
    let sources = Sources { claims: &claims, snippets: &snippets, product_name: NAME };
    let items = vec![
        PlanItem::Paragraph { claim_id: ids[0].clone() },
        PlanItem::Entry { claim_id: ids[1].clone() },
        PlanItem::Link { title: "API".to_owned(), path: "content/kb/b.md".to_owned() },
        PlanItem::Snippet { sha256: "s".to_owned() },
        PlanItem::Line { text: "Take care.".to_owned() },
    ];
    let written = page(&plan(items), &sources).unwrap();
    let expected = format!(
        "# About \\*ShopKit\\*\n\n## Use\n\nReads `x_y` and a\\_b of ShopKit. {}\n\n- Writes files. {}\n- [API](../kb/b.md)\n\n```python\nf(1)\n```\n\nTake care.\n",
        marker(&ids[0]),
        marker(&ids[1])
    );
    assert_eq!(written.text, expected);
    // Lines without a mark are known.
    let known = Claims { template_lines: written.template_lines, ..Claims::default() };
    let page = Page::parse("a.md", written.text, 100);
    assert_eq!(page.comments.len(), 2);
    for line in ["Take care.", "- [API](../kb/b.md)", "# About \\*ShopKit\\*", "## Use"] {
        assert!(known.is_template_line(line), "{line}");
    }
    assert!(!known.is_template_line("## About"));
}

#[test]
fn a_page_without_claims_says_that_a_run_wrote_it() {
    let (claims, snippets) = (BTreeMap::new(), BTreeMap::new());
    let sources = Sources { claims: &claims, snippets: &snippets, product_name: NAME };
    let written = page(&plan(vec![PlanItem::Line { text: "Take care.".to_owned() }]), &sources).unwrap();
    assert!(written.text.ends_with("\n\nTake care.\n\n<!-- launch_page -->\n"), "{}", written.text);
    let page = Page::parse("a.md", written.text, 100);
    let comments: Vec<bool> =
        page.comments.iter().map(|comment| crate::claim::is_mark_of_a_run(&comment.text)).collect();
    assert_eq!(comments, [true]);
    for other in ["launch", "launch_page of people", "", " "] {
        assert!(!crate::claim::is_mark_of_a_run(other), "{other:?}");
    }
}

#[test]
fn a_plan_that_refers_to_nothing_is_refused() {
    let (claims, snippets) = (BTreeMap::new(), BTreeMap::new());
    let sources = Sources { claims: &claims, snippets: &snippets, product_name: NAME };
    for item in [PlanItem::Entry { claim_id: "x".to_owned() }, PlanItem::Snippet { sha256: "x".to_owned() }] {
        assert!(page(&plan(vec![item]), &sources).is_err());
    }
}
