//! What may be stored of a text that came from outside: no NUL, no secrets, nothing endless.

use serde_json::{Map, Value};

use crate::indexing::{is_secret_value, redact};

/// How values are cleaned.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cleaner {
    /// Whether secrets are replaced.
    pub(super) redact: bool,
    /// Longest text in bytes.
    pub(super) text_bytes_max: usize,
    /// Longest list.
    pub(super) list_max: usize,
}

/// What was taken away.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Taken {
    /// Secrets replaced.
    pub(super) secrets: u64,
    /// Texts and lists cut.
    pub(super) cut: usize,
}

/// Fields that hold a secret whatever its form.
const SECRET_NAMES: &[&str] =
    &["password", "passwd", "secret", "api_key", "apikey", "access_key", "token", "private_key"];

impl Cleaner {
    /// Cleans a value in place.
    pub(super) fn value(&self, value: &mut Value, taken: &mut Taken) {
        match value {
            Value::String(text) => self.text(text, taken),
            Value::Array(list) => {
                if list.len() > self.list_max {
                    list.truncate(self.list_max);
                    taken.cut += 1;
                }
                list.iter_mut().for_each(|one| self.value(one, taken));
            }
            Value::Object(fields) => {
                let old = std::mem::take(fields);
                *fields = old
                    .into_iter()
                    .map(|(name, value)| self.field(name, value, taken))
                    .collect::<Map<_, _>>();
            }
            _ => {}
        }
    }

    fn field(&self, mut name: String, mut value: Value, taken: &mut Taken) -> (String, Value) {
        self.text(&mut name, taken);
        if self.redact
            && let Value::String(text) = &mut value
            && !text.is_empty()
            && (SECRET_NAMES.contains(&name.to_lowercase().as_str()) || is_secret_value(&name, text))
        {
            *text = "[REDACTED:password]".to_owned();
            taken.secrets += 1;
        }
        self.value(&mut value, taken);
        (name, value)
    }

    /// Cleans a text in place.
    pub(super) fn text(&self, text: &mut String, taken: &mut Taken) {
        if text.contains('\0') {
            *text = text.replace('\0', "");
        }
        if self.redact {
            let clean = redact(text);
            taken.secrets += clean.count as u64;
            if clean.count > 0 {
                *text = clean.text.into_owned();
            }
        }
        if text.len() > self.text_bytes_max {
            text.truncate(text.floor_char_boundary(self.text_bytes_max));
            text.push('…');
            taken.cut += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nothing_that_may_not_be_stored_stays() {
        let token = ["ghp", "_16C7e42F292c6912E7710c838347Ae178B4a"].concat();
        let mut value = json!({ "a\0b": "x\0y", "t": format!("see {token}"), "password": "hunter2!", "dbPassword": "hunter2x", "l": [1, 2, 3, 4], "long": "é".repeat(50) });
        let cleaner = Cleaner { redact: true, text_bytes_max: 60, list_max: 3 };
        let mut taken = Taken::default();
        cleaner.value(&mut value, &mut taken);
        assert_eq!(
            value,
            json!({ "ab": "xy", "t": "see [REDACTED:github_token]", "password": "[REDACTED:password]", "dbPassword": "[REDACTED:password]",
                "l": [1, 2, 3], "long": format!("{}…", "é".repeat(30)) })
        );
        assert_eq!(taken, Taken { secrets: 3, cut: 2 });
        let off = Cleaner { redact: false, ..cleaner };
        let mut text = token.clone();
        off.text(&mut text, &mut taken);
        assert_eq!(text, token);
    }
}
