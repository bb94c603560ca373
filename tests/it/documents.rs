//! The generated parts of the documents match the code.

use std::fs;
use std::path::Path;

use engine::search::fields::{FIELDS, FilterField, ValueKind};

#[expect(
    clippy::disallowed_methods,
    reason = "UPDATE_DOCS=1 rewrites the generated parts after a deliberate change"
)]
fn updating() -> bool {
    std::env::var_os("UPDATE_DOCS").is_some()
}

/// Checks the part of a document between `<!-- generated: part -->` and `<!-- end -->`, or rewrites it with `UPDATE_DOCS=1`.
pub(crate) fn check(document: &str, part: &str, expected: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(document);
    let text = fs::read_to_string(&path).unwrap();
    let marker = format!("<!-- generated: {part} -->\n");
    let (before, rest) = text.split_once(&marker).unwrap();
    let (published, after) = rest.split_once("<!-- end -->").unwrap();
    if published != expected && updating() {
        fs::write(&path, format!("{before}{marker}{expected}<!-- end -->{after}")).unwrap();
        return;
    }
    assert!(
        published == expected,
        "{document} is out of date: UPDATE_DOCS=1 cargo test -- documents docs_contain"
    );
}

fn kind(field: &FilterField) -> &'static str {
    match field.kind {
        ValueKind::Text => "text",
        ValueKind::Alternatives => "text, commas between alternatives",
        ValueKind::TextOrList => "text or list",
        ValueKind::Number => "number",
        ValueKind::Boolean => "true or false",
        ValueKind::Pairs => "object, list or text",
        ValueKind::Json => "object, or text that is JSON",
    }
}

#[test]
fn the_docs_list_every_filter() {
    let mut table = String::from("| field | flag | value | passes chunks |\n|---|---|---|---|\n");
    for field in FIELDS {
        table.push_str(&format!(
            "| `{}` | `--{}` | {} | {} |\n",
            field.name,
            field.cli_flag,
            kind(field),
            field.help
        ));
    }
    check("docs/search.md", "filters", &table);
}
