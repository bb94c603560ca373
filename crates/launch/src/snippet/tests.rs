//! Snippets of pages, parsed in this process.

use languages::ChunkLimits;

use super::*;
use crate::site::{MemoryFiles, SiteLimits};

/// The parsed code blocks of a site.
pub(crate) fn parsed(site: &Site) -> Vec<ParsedSnippet> {
    let limits = ChunkLimits::default();
    let parse = |language: &'static Language, text: &str| {
        Ok::<_, std::convert::Infallible>(Some(languages::chunk(text, Some(language), &limits)))
    };
    let Ok(snippets) = parse_snippets(site, parse);
    snippets
}

fn of_page(text: &str) -> Vec<ParsedSnippet> {
    let files: MemoryFiles = [("a.md", text)].into_iter().collect();
    parsed(&Site::read(&files, None, &SiteLimits::default()))
}

#[test]
fn imports_and_uses_have_their_lines_in_the_page() {
    let snippets = of_page(
        "# T\n\n```python\nfrom shop.orders import parse_order as po\nimport shop\n\nclass Mine:\n    pass\n\npo('x')\nshop.load(1)\n```\n",
    );
    let [snippet] = &snippets[..] else { panic!("{snippets:?}") };
    assert_eq!((snippet.language, snippet.line, snippet.syntax_error), ("python", 3, None));
    let expected = SnippetImport {
        module: "shop.orders".to_owned(),
        name: Some("parse_order".to_owned()),
        local: Some("po".to_owned()),
        line: 4,
    };
    assert!(snippet.imports.contains(&expected), "{:?}", snippet.imports);
    let load = SnippetUse { parts: vec!["shop".to_owned(), "load".to_owned()], is_call: true, line: 11 };
    assert!(snippet.uses.contains(&load), "{:?}", snippet.uses);
    assert!(snippet.defined.contains("Mine"));
    let mut names = BTreeSet::new();
    snippet.for_each_name(&mut |name| {
        names.insert(name.to_owned());
    });
    for name in ["shop", "orders", "parse_order", "load"] {
        assert!(names.contains(name), "{names:?}");
    }
}

#[test]
fn paths_of_rust_are_uses() {
    let snippets = of_page("```rust\nuse shop::orders;\nlet o = shop::orders::parse_order(\"x\")?;\n```\n");
    let uses: Vec<String> = snippets[0].uses.iter().map(|used| used.parts.join("::")).collect();
    assert!(uses.contains(&"shop::orders::parse_order".to_owned()), "{uses:?}");
    assert_eq!(snippets[0].syntax_error, None);
}

#[test]
fn only_what_is_whole_has_to_parse() {
    let error = |text: &str| of_page(text).first().and_then(|snippet| snippet.syntax_error);
    assert!(error("```json\n{ \"a\": }\n```\n").is_some());
    assert_eq!(error("```json\n{ \"a\": … }\n```\n"), None, "it leaves something out");
    assert_eq!(error("```sh\nrun <file> (\n```\n"), None, "a shell's placeholders are not its syntax");
    assert!(of_page("```text\n{\n```\n```\n{\n```\n```rust,ignore\n{\n```\n").is_empty());
    let long = format!("```json\n[{}]\n```\n", "1,".repeat(BLOCK_BYTES_MAX));
    assert!(of_page(&long).is_empty());
}

#[test]
fn untrusted_input_in_a_dangerous_operation_is_a_risk() {
    let snippets = of_page("```python\nimport sys\nfor a in sys.argv:\n    os.system('ls ' + a)\n```\n");
    let risk = snippets[0].risk.as_ref().unwrap();
    assert!(risk.severity >= Severity::High, "{risk:?}");
    assert_eq!(risk.line, 4);
    assert_eq!(of_page("```python\nprint(1)\n```\n")[0].risk, None);
}
