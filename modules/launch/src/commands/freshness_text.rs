//! Formats for `launch status` the sentences that the repository no longer says: old and new lines, one below the other.

use std::fmt::Write;

use serde_json::Value;

use contract::escaped_line;
use surfaces::cli::shell::{BAD, DIM, GOOD, PATH, short_commit, styled};

/// The number of sentences that are printed.
const PRINTED_MAX: usize = 20;

/// Formats the result of the last comparison of the pages; empty if there was none.
pub(super) fn freshness(status: &Value) -> String {
    let freshness = &status["freshness"];
    let Some(stale_count) = freshness["stale_count"].as_u64() else { return String::new() };
    let claims = freshness["claims"].as_u64().unwrap_or(0);
    let commit = escaped_line(freshness["checked_sha"].as_str().unwrap_or_default());
    let commit = short_commit(&commit);
    let mut shown = String::new();
    // Writing to a string cannot fail.
    let _ = match stale_count {
        0 => writeln!(shown, "  {} {claims} claims, compared with {commit}", styled(DIM, "fresh:")),
        _ => writeln!(
            shown,
            "  {} {stale_count} {}, compared with {commit}",
            styled(BAD, "stale:"),
            if stale_count == 1 { "sentence" } else { "sentences" }
        ),
    };
    let mut listed = 0_u64;
    for sentence in freshness["stale"].as_array().into_iter().flatten().take(PRINTED_MAX) {
        listed += 1;
        push_sentence(&mut shown, sentence);
    }
    if stale_count > listed {
        let _ = writeln!(shown, "  {}", styled(DIM, &format!("… and {} more", stale_count - listed)));
    }
    shown
}

/// Formats the number of stale sentences of a listed run; empty if its pages are not watched.
pub(super) fn stale_count(run: &Value) -> String {
    match run["stale"].as_u64() {
        None => String::new(),
        Some(0) => styled(DIM, "  0 stale"),
        Some(count) => styled(BAD, &format!("  {count} stale")),
    }
}

fn push_sentence(shown: &mut String, sentence: &Value) {
    let plain = |field: &str| escaped_line(sentence[field].as_str().unwrap_or_default());
    let line = |value: &Value| value.as_u64().unwrap_or(0);
    let page = format!("{}:{}", plain("page"), line(&sentence["line"]));
    let cited = format!("{}:{}", plain("path"), line(&sentence["old"]["start_line"]));
    let _ = writeln!(shown, "  {} {} {}", styled(PATH, &page), plain("text"), styled(DIM, &cited));
    push_lines(shown, &sentence["old"], |text| styled(BAD, &format!("- {text}")));
    match sentence["new"].is_object() {
        true => push_lines(shown, &sentence["new"], |text| styled(GOOD, &format!("+ {text}"))),
        false => {
            let _ = writeln!(shown, "    {}", styled(DIM, "+ these lines are gone"));
        }
    }
}

fn push_lines(shown: &mut String, lines: &Value, style: impl Fn(&str) -> String) {
    for text in lines["lines"].as_array().into_iter().flatten() {
        let _ = writeln!(shown, "    {}", style(&escaped_line(text.as_str().unwrap_or_default())));
    }
    if lines["truncated"] == true {
        let _ = writeln!(shown, "    {}", style("…"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn printed(status: &Value) -> String {
        anstream::adapter::strip_str(&freshness(status)).to_string()
    }

    #[test]
    fn old_and_new_lines_stand_one_below_the_other() {
        let sentence = |new: Value| {
            json!({ "claim_id": "c", "page": "docs/a\u{1b}.md", "line": 5, "text": "Reads CSV.", "path": "README.md",
                "old": { "start_line": 7, "lines": ["Reads CSV.", "One\tday."] }, "new": new, "verdict": "stale" })
        };
        let changed = sentence(json!({ "start_line": 9, "lines": ["Reads TSV."], "truncated": true }));
        let shown = printed(
            &json!({ "freshness": { "checked_sha": "0123456789abcdef", "claims": 4, "stale_count": 3,
            "stale": [changed, sentence(Value::Null)] } }),
        );
        let commit = short_commit("0123456789abcdef");
        let old = "    - Reads CSV.\n    - One day.\n";
        let at = "  docs/a\\u{1b}.md:5 Reads CSV. README.md:7\n";
        assert_eq!(
            shown,
            format!(
                "  stale: 3 sentences, compared with {commit}\n{at}{old}    + Reads TSV.\n    + …\n{at}{old}    + these lines are gone\n  … and 1 more\n"
            )
        );
    }

    #[test]
    fn fresh_pages_are_one_line_and_others_none() {
        let fresh = json!({ "freshness": { "checked_sha": "0123456789abcdef", "claims": 4, "stale_count": 0, "stale": [] } });
        assert_eq!(
            printed(&fresh),
            format!("  fresh: 4 claims, compared with {}\n", short_commit("0123456789abcdef"))
        );
        assert_eq!(printed(&json!({})), "");
        let counted = |run: Value| anstream::adapter::strip_str(&stale_count(&run)).to_string();
        assert_eq!(
            [counted(json!({})), counted(json!({ "stale": 0 })), counted(json!({ "stale": 2 }))],
            ["", "  0 stale", "  2 stale"]
        );
    }
}
