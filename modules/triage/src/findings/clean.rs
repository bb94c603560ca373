//! Cleans the values of reports and decisions before they are stored: removes NUL characters, redacts secrets,
//! truncates long texts and lists.

use serde_json::{Map, Value};

use engine::indexing::{is_secret_value, redact};

/// Cleans values; its fields are the options.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cleaner {
    /// `true` if secrets are redacted.
    pub(super) redact: bool,
    /// Maximum length of a text in bytes.
    pub(super) text_bytes_max: usize,
    /// Longest list.
    pub(super) list_max: usize,
}

/// Counts of the changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct CleaningStats {
    /// Redacted secrets.
    pub(super) secrets: u64,
    /// Truncated texts and lists.
    pub(super) truncated: usize,
}

/// Names of fields whose value is always redacted.
const SECRET_NAMES: &[&str] =
    &["password", "passwd", "secret", "api_key", "apikey", "access_key", "token", "private_key"];

impl Cleaner {
    /// Cleans a value in place.
    pub(super) fn clean_value(&self, value: &mut Value, stats: &mut CleaningStats) {
        match value {
            Value::String(text) => self.clean_text(text, stats),
            Value::Array(list) => {
                if list.len() > self.list_max {
                    list.truncate(self.list_max);
                    stats.truncated += 1;
                }
                list.iter_mut().for_each(|item| self.clean_value(item, stats));
            }
            Value::Object(fields) => {
                let old = std::mem::take(fields);
                *fields = old
                    .into_iter()
                    .map(|(name, value)| self.clean_field(name, value, stats))
                    .collect::<Map<_, _>>();
            }
            _ => {}
        }
    }

    fn clean_field(&self, mut name: String, mut value: Value, stats: &mut CleaningStats) -> (String, Value) {
        self.clean_text(&mut name, stats);
        if self.redact
            && let Value::String(text) = &mut value
            && !text.is_empty()
            && (SECRET_NAMES.contains(&name.to_lowercase().as_str()) || is_secret_value(&name, text))
        {
            *text = "[REDACTED:password]".to_owned();
            stats.secrets += 1;
        }
        self.clean_value(&mut value, stats);
        (name, value)
    }

    /// Cleans a text in place.
    pub(super) fn clean_text(&self, text: &mut String, stats: &mut CleaningStats) {
        if text.contains('\0') {
            *text = text.replace('\0', "");
        }
        if self.redact {
            let clean = redact(text);
            stats.secrets += clean.count as u64;
            if clean.count > 0 {
                *text = clean.text.into_owned();
            }
        }
        if text.len() > self.text_bytes_max {
            text.truncate(text.floor_char_boundary(self.text_bytes_max));
            text.push('…');
            stats.truncated += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nul_secrets_and_long_values_are_removed() {
        let token = ["ghp", "_16C7e42F292c6912E7710c838347Ae178B4a"].concat();
        let mut value = json!({ "a\0b": "x\0y", "t": format!("see {token}"), "password": "hunter2!", "dbPassword": "hunter2x", "l": [1, 2, 3, 4], "long": "é".repeat(50) });
        let cleaner = Cleaner { redact: true, text_bytes_max: 60, list_max: 3 };
        let mut stats = CleaningStats::default();
        cleaner.clean_value(&mut value, &mut stats);
        assert_eq!(
            value,
            json!({ "ab": "xy", "t": "see [REDACTED:github_token]", "password": "[REDACTED:password]", "dbPassword": "[REDACTED:password]",
                "l": [1, 2, 3], "long": format!("{}…", "é".repeat(30)) })
        );
        assert_eq!(stats, CleaningStats { secrets: 3, truncated: 2 });
        let without_redaction = Cleaner { redact: false, ..cleaner };
        let mut text = token.clone();
        without_redaction.clean_text(&mut text, &mut stats);
        assert_eq!(text, token);
    }
}
