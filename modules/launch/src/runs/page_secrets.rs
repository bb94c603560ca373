//! Finds secrets in pages with the rules by which texts are redacted before they are indexed.

use engine::indexing::redact_file;
use launch::gate::{FoundSecret, SecretFinder};

/// The start of the placeholder that replaces a secret in a redacted text, up to its kind.
const REDACTED: &str = "[REDACTED:";

/// Finds secrets by redacting the text.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PageSecrets;

impl SecretFinder for PageSecrets {
    fn find(&self, path: &str, text: &str) -> Vec<FoundSecret> {
        let redacted = redact_file(path, text);
        if redacted.count == 0 {
            return Vec::new();
        }
        // Redaction keeps the number of lines.
        let lines = text.lines().zip(redacted.text.lines()).zip(1..);
        let changed = lines.filter(|((before, after), _)| before != after);
        changed
            .flat_map(|((before, after), line)| {
                // A page may speak of redaction itself.
                let kinds = |text: &str| -> Vec<String> {
                    let found = text.match_indices(REDACTED).filter_map(|(at, _)| {
                        let kind = text.get(at + REDACTED.len()..)?;
                        Some(kind.split(']').next().unwrap_or_default().to_owned())
                    });
                    found.collect()
                };
                let known = kinds(before).len();
                kinds(after).into_iter().skip(known).map(move |kind| FoundSecret { line, kind })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_have_their_lines_and_kinds() {
        // Concatenated, so that secret scanners do not report this file.
        let token = ["ghp", "_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
        let text =
            format!("# Setup\n\nThe index has `[REDACTED:kind]` instead.\n\nexport GITHUB_TOKEN={token}\n");
        let found = PageSecrets.find("docs/setup.md", &text);
        let lines: Vec<u32> = found.iter().map(|secret| secret.line).collect();
        assert_eq!(lines, [5], "{found:?}");
        assert!(!found[0].kind.is_empty() && !found[0].kind.contains(&token));
        assert!(PageSecrets.find("docs/setup.md", "# Setup\n\nNothing.\n").is_empty());
    }
}
