//! Shortens long arguments that an error message quotes.
//!
//! The fault of a tool may quote its arguments in several places. The gate shortens the quotes for all tools: it truncates the
//! first quote of a long text and replaces the others by an ellipsis.

use serde_json::Value;

use contract::{ECHO_CHARS_MAX, Fault, echo, escaped_line};

/// Maximum number of texts of one call that are shortened.
const TEXTS_MAX: usize = 32;
/// Replaces every quote but the first.
const ELLIPSIS: &str = "…";

/// Arguments that are longer than [`ECHO_CHARS_MAX`] characters.
pub(super) struct LongTexts(Vec<String>);

impl LongTexts {
    /// Collects long strings of `arguments`, including names of fields.
    pub(super) fn collect(arguments: &Value) -> Self {
        let mut texts = Vec::new();
        collect_long_texts(arguments, &mut texts);
        texts.truncate(TEXTS_MAX);
        Self(texts)
    }

    /// Shortens the quotes in message, hint and details of `fault`, including trimmed and escaped ones.
    pub(super) fn shorten(&self, fault: &mut Fault) {
        for text in &self.0 {
            let mut quoted = false;
            for form in
                [text.clone(), text.trim().to_owned(), escaped_line(text), text.escape_debug().to_string()]
            {
                shorten_text(&mut fault.message, &form, &mut quoted);
                if let Some(hint) = &mut fault.hint {
                    shorten_text(hint, &form, &mut quoted);
                }
                if let Some(details) = &mut fault.details {
                    shorten_value(details, &form, &mut quoted);
                }
            }
        }
    }
}

fn collect_long_texts(value: &Value, texts: &mut Vec<String>) {
    let mut keep = |text: &String| {
        if text.chars().nth(ECHO_CHARS_MAX).is_some() && texts.len() < TEXTS_MAX {
            texts.push(text.clone());
        }
    };
    match value {
        Value::String(text) => keep(text),
        Value::Array(items) => items.iter().for_each(|item| collect_long_texts(item, texts)),
        Value::Object(fields) => {
            fields.keys().for_each(&mut keep);
            fields.values().for_each(|field| collect_long_texts(field, texts));
        }
        _ => {}
    }
}

fn shorten_text(text: &mut String, form: &str, quoted: &mut bool) {
    if form.is_empty() || !text.contains(form) {
        return;
    }
    if !*quoted {
        *text = text.replacen(form, &echo(form), 1);
        *quoted = true;
    }
    *text = text.replace(form, ELLIPSIS);
}

fn shorten_value(value: &mut Value, form: &str, quoted: &mut bool) {
    match value {
        Value::String(text) => shorten_text(text, form, quoted),
        Value::Array(items) => items.iter_mut().for_each(|item| shorten_value(item, form, quoted)),
        Value::Object(fields) => fields.values_mut().for_each(|field| shorten_value(field, form, quoted)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::ErrorCode;
    use serde_json::json;

    #[test]
    fn a_long_text_is_quoted_once_and_short() {
        let long = "y".repeat(100_000);
        let texts = LongTexts::collect(&json!({ "a": "short", "b": [{ "c": long }] }));
        let mut fault = Fault::new(ErrorCode::NotFound, format!("No file `{long}` beside short."))
            .with_hint(format!("Is `{long}` right?"))
            .with_details(json!({ "path": long, "also": ["short"] }));
        texts.shorten(&mut fault);
        assert!(
            fault.message.starts_with("No file `yyy")
                && fault.message.ends_with("(100000 characters)` beside short.")
        );
        assert!(fault.message.len() < 300);
        assert_eq!(fault.hint.as_deref(), Some("Is `…` right?"));
        assert_eq!(fault.details, Some(json!({ "path": "…", "also": ["short"] })));
    }
}
