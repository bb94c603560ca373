//! Long texts among the arguments of a call, which the report of its failure must not repeat.
//!
//! A tool's failure names what was wrong, and so quotes what was sent. The gate shortens those quotes for all tools: the first one
//! is cut, the others are left out.

use serde_json::Value;

use contract::{ECHO_CHARS_MAX, Fault, echo, visible_line};

/// More texts than these are not looked for.
const TEXTS_MAX: usize = 32;
/// What stands where a text is left out.
const LEFT_OUT: &str = "…";

/// The texts of more than [`ECHO_CHARS_MAX`] characters.
pub(super) struct LongTexts(Vec<String>);

impl LongTexts {
    /// Those among `arguments`, names of fields included.
    pub(super) fn of(arguments: &Value) -> Self {
        let mut texts = Vec::new();
        collect(arguments, &mut texts);
        texts.truncate(TEXTS_MAX);
        Self(texts)
    }

    /// Shortens what `fault` quotes of them.
    pub(super) fn shorten(&self, fault: &mut Fault) {
        for text in &self.0 {
            let mut shown = false;
            for form in
                [text.clone(), text.trim().to_owned(), visible_line(text), text.escape_debug().to_string()]
            {
                replace(&mut fault.message, &form, &mut shown);
                if let Some(hint) = &mut fault.hint {
                    replace(hint, &form, &mut shown);
                }
                if let Some(details) = &mut fault.details {
                    replace_within(details, &form, &mut shown);
                }
            }
        }
    }
}

fn collect(value: &Value, texts: &mut Vec<String>) {
    let mut keep = |text: &String| {
        if text.chars().nth(ECHO_CHARS_MAX).is_some() && texts.len() < TEXTS_MAX {
            texts.push(text.clone());
        }
    };
    match value {
        Value::String(text) => keep(text),
        Value::Array(items) => items.iter().for_each(|item| collect(item, texts)),
        Value::Object(fields) => {
            fields.keys().for_each(&mut keep);
            fields.values().for_each(|field| collect(field, texts));
        }
        _ => {}
    }
}

fn replace(text: &mut String, form: &str, shown: &mut bool) {
    if form.is_empty() || !text.contains(form) {
        return;
    }
    if !*shown {
        *text = text.replacen(form, &echo(form), 1);
        *shown = true;
    }
    *text = text.replace(form, LEFT_OUT);
}

fn replace_within(value: &mut Value, form: &str, shown: &mut bool) {
    match value {
        Value::String(text) => replace(text, form, shown),
        Value::Array(items) => items.iter_mut().for_each(|item| replace_within(item, form, shown)),
        Value::Object(fields) => fields.values_mut().for_each(|field| replace_within(field, form, shown)),
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
        let texts = LongTexts::of(&json!({ "a": "short", "b": [{ "c": long }] }));
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
