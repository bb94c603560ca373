//! Decides by its content whether a data file whose name suggests secrets contains any: `tokens.json` may be that of a design system,
//! `passwords.en.yml` the messages of an application.
//!
//! Only files that are certainly harmless are accepted: every key, value and comment must be a word of a message, a style, a reference or a
//! small number.

use serde_json::{Map, Value};

use super::files::stem_by_content;
use super::names::SecretClass;
use super::values::{self, ValueContext};
use super::{phrases, redact_file};

/// Largest file that is examined, in bytes; a larger one counts as secret.
const BYTES_MAX: usize = 256 * 1024;
/// Maximum nesting depth that is examined.
const DEPTH_MAX: usize = 64;
/// Digits of the longest number.
const DIGITS_MAX: usize = 6;
/// Names of folders with messages in several languages.
const MESSAGE_FOLDERS: [&str; 6] = ["locales", "locale", "i18n", "l10n", "lang", "translations"];
/// Codes of languages (ISO 639-1): `credentials.qa.yml` belongs to a stage, and is not in a language.
const LANGUAGES: &str = "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee \
    el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka kg ki \
    kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc \
    oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr \
    ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu";
/// Fields of a design token that say what its value is.
const TYPE_FIELDS: [&str; 2] = ["type", "$type"];
/// Fields of a design token that describe it.
const DESCRIBING_FIELDS: [&str; 7] =
    ["type", "$type", "description", "$description", "comment", "name", "category"];

/// Returns whether the name of the file suggests secrets, and its content does not show that there are none.
pub(crate) fn may_contain_secrets(path: &str, bytes: &[u8]) -> bool {
    let lower_path = path.to_lowercase();
    let Some((stem, extension)) = stem_by_content(&lower_path) else { return false };
    let is_harmless = || {
        let text = str::from_utf8(bytes).ok().filter(|text| text.len() <= BYTES_MAX)?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let value = parsed(text, extension)?;
        let kind = match stem {
            _ if are_messages(&lower_path, &value) => Kind::Messages,
            "tokens" => Kind::Tokens,
            _ => Kind::References,
        };
        let comments = if extension == "json" { "" } else { text };
        Some(
            redact_file(path, text).count == 0
                && kind.are_harmless("", &value, None, 0)
                && comments.lines().all(|line| kind.is_harmless_comment(line)),
        )
    };
    !is_harmless().unwrap_or(false)
}

/// Returns the value of a file; `None` if it is malformed, or has a duplicate key, since only the last value would be seen.
fn parsed(text: &str, extension: &str) -> Option<Value> {
    match extension {
        "json" => {
            let value: Value = serde_json::from_str(text).ok()?;
            (quotes(text) == 2 * strings(&value)).then_some(value)
        }
        "toml" => toml::from_str(text).ok(),
        _ => serde_saphyr::from_str(text).ok(),
    }
}

/// Returns the number of quotes around keys and texts in valid JSON.
fn quotes(text: &str) -> usize {
    let mut escaped = false;
    let mut is_quote = |byte: &u8| {
        let is_it = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        is_it
    };
    text.as_bytes().iter().filter(|byte| is_quote(byte)).count()
}

/// Returns the number of keys and texts of a value.
fn strings(value: &Value) -> usize {
    match value {
        Value::String(_) => 1,
        Value::Array(values) => values.iter().map(strings).sum(),
        Value::Object(fields) => fields.values().map(|value| 1 + strings(value)).sum(),
        _ => 0,
    }
}

/// Returns whether the file contains messages in a language: its only field is a language code that is also in its name, or it is in a
/// folder of messages and its only field is any language code; or it is in a language's folder inside a folder of messages.
fn are_messages(lower_path: &str, value: &Value) -> bool {
    let (folders, name) = lower_path.rsplit_once('/').unwrap_or(("", lower_path));
    let folders: Vec<&str> = folders.split('/').collect();
    let is_messages = |folder: &&str| MESSAGE_FOLDERS.contains(folder);
    let fields: Vec<&String> = value.as_object().map(|fields| fields.keys().collect()).unwrap_or_default();
    let of_field = match fields.as_slice() {
        [field] if value[field.as_str()].is_object() => Some(field.to_lowercase()),
        _ => None,
    };
    let code = of_field.filter(|field| is_language_code(field));
    code.is_some_and(|code| name.split('.').any(|part| part == code) || folders.iter().any(is_messages))
        || folders.windows(2).any(|pair| is_messages(&pair[0]) && is_language_code(pair[1]))
}

/// Returns whether the text is a code such as `en`, `pt-br` or `zh_hant`.
fn is_language_code(text: &str) -> bool {
    let (language, region) = text.split_once(['-', '_']).unwrap_or((text, "us"));
    let is_region = (2..=4).contains(&region.len()) && region.bytes().all(|byte| byte.is_ascii_lowercase());
    LANGUAGES.split(' ').any(|code| code == language) && is_region
}

/// Kind of the values of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Design tokens.
    Tokens,
    /// Messages in a language.
    Messages,
    /// References to secrets that are elsewhere.
    References,
}

impl Kind {
    /// Returns whether a value and everything in it are harmless. `around` is the object that contains it.
    fn are_harmless(
        self,
        field: &str,
        value: &Value,
        around: Option<&Map<String, Value>>,
        depth: usize,
    ) -> bool {
        match value {
            _ if depth > DEPTH_MAX => false,
            Value::Null | Value::Bool(_) => true,
            Value::Number(number) => self != Self::References && number.to_string().len() <= DIGITS_MAX,
            Value::String(text) => self.is_harmless(field, text.trim(), around),
            Value::Array(values) => {
                values.iter().all(|value| self.are_harmless(field, value, around, depth + 1))
            }
            Value::Object(fields) => fields.iter().all(|(field, value)| {
                self.is_harmless_key(field) && self.are_harmless(field, value, Some(fields), depth + 1)
            }),
        }
    }

    /// Returns whether a key is a name: of words or, of a design token, also of words with numbers (`gray900`, `2xl`).
    fn is_harmless_key(self, key: &str) -> bool {
        let is_word = |word: &str| {
            let digits = word.bytes().filter(u8::is_ascii_digit).count();
            let turns = word
                .as_bytes()
                .windows(2)
                .filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit());
            digits == 0 || self == Self::Tokens && digits <= 4 && turns.count() <= 1 && word.len() <= 16
        };
        key.split(|c: char| !c.is_alphanumeric()).all(is_word)
            && !values::is_secret(key, SecretClass::Token, ValueContext::Config)
    }

    /// Returns whether the comment of a line, if it has one, consists of words.
    fn is_harmless_comment(self, line: &str) -> bool {
        let Some((before, comment)) = line.split_once('#') else { return true };
        let is_comment = before.is_empty() || before.ends_with(char::is_whitespace);
        !is_comment || self != Self::References && comment.split_whitespace().all(is_plain)
    }

    fn is_harmless(self, field: &str, text: &str, around: Option<&Map<String, Value>>) -> bool {
        if text.is_empty() || values::is_stand_in(text) && !text.starts_with(['<', '(', '_', '%', '@']) {
            return true;
        }
        match self {
            Self::References => false,
            Self::Messages => {
                text.split_whitespace().all(is_plain) && !phrases::is_passphrase(text, ValueContext::Config)
            }
            Self::Tokens => {
                let has_type =
                    around.is_some_and(|token| TYPE_FIELDS.iter().any(|field| token.contains_key(*field)));
                let is_word = |word: &str| is_plain(word) || has_type && self.is_harmless_key(word);
                let are_words = || text.split_whitespace().all(is_word);
                let is_one = !text.contains(char::is_whitespace);
                is_style(text)
                    || (has_type || DESCRIBING_FIELDS.contains(&field)) && are_words()
                    || is_one
                        && are_words()
                        && !values::is_secret(text, SecretClass::Password, ValueContext::Config)
            }
        }
    }
}

/// Returns whether a word of a text is not a secret: ordinary in all its parts, without long numbers.
fn is_plain(word: &str) -> bool {
    let is_token = |word: &str| values::is_secret(word, SecretClass::Token, ValueContext::Config);
    let is_short = |part: &str| {
        let digits = part.bytes().filter(u8::is_ascii_digit).count();
        digits == 0 || digits <= 4 && part.len() <= 8
    };
    !is_token(word.trim_matches(|c: char| !c.is_alphanumeric()))
        && phrases::is_ordinary(word)
        && word.split(|c: char| !c.is_alphanumeric()).all(is_short)
}

/// Returns whether the text consists of colours, measures and functions of them: `#1a2b3c`, `1.5rem`, `0 1px 2px rgba(0, 0, 0, 0.25)`.
fn is_style(text: &str) -> bool {
    let is_part = |part: &str| {
        let is_colour = part.strip_prefix('#').is_some_and(|digits| {
            matches!(digits.len(), 3 | 4 | 6 | 8) && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        });
        let unit = part.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+'));
        let number = part.len() - unit.len();
        let is_measure = (1..=DIGITS_MAX).contains(&number)
            && unit.len() <= 4
            && unit.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'%');
        // Letters between numbers and colours are the name of a function or a kind: `solid`, `cubic-bezier`.
        let is_word = part.bytes().all(|byte| byte.is_ascii_lowercase() || b"-+*/".contains(&byte));
        part.is_empty() || is_colour || is_measure || is_word
    };
    let has_number = text.contains(|c: char| c.is_ascii_digit() || c == '#');
    has_number && text.split(|c: char| c.is_whitespace() || "(),".contains(c)).all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_without_secrets_are_let_in() {
        for (path, text) in [
            (
                "design/tokens.json",
                r##"{"color": {"red": {"$value": "#ff0066aa", "$type": "color"}, "link": {"$value": "{color.red}"}},
                    "space": {"m": {"value": "1.5rem"}, "l": 24}, "font": {"value": "Roboto-Bold700", "type": "fontFamily"},
                    "shadow": {"$value": "0 1px 2px rgba(0, 0, 0, 0.25)", "$type": "shadow"}}"##,
            ),
            ("tokens.yaml", "color:\n  red: '#f00'\n  base: \"{color.red}\"\n"),
            ("theme/tokens.toml", "[color]\nred = \"#ff0066\"\nsize = \"16px\"\n"),
            (
                "config/locales/devise/passwords.en.yml",
                "en:\n  passwords:\n    title: Password\n    updated: \"Your password was changed. You are now signed in.\"\n    hint: \"%{count} characters minimum\"\n",
            ),
            ("passwords.de.yml", "de:\n  neu: \"Passwort vergessen?\"\n  senden: Abschicken\n"),
            (
                "locales/credentials.json",
                r#"{"fr": {"title": "Identifiants", "error": "Le mot de passe est faux"}}"#,
            ),
            (
                "tokens.json",
                r##"{"ease": {"value": "cubic-bezier(0.4, 0, 0.2, 1)"}, "inner": {"value": "calc(100% - 2px)"},
                    "line": {"value": "0.5px solid #1a2b3c4d"}, "shadow": "0px 1px 2px 0px rgba(16,24,40,0.05)",
                    "gray900": {"value": "#111827"}, "2xl": {"$value": [0.4, 0, 0.2, 1], "$type": "cubicBezier"},
                    "font": {"value": "Helvetica Neue", "type": "fontFamily"}}"##,
            ),
            ("locales/zh/passwords.yml", "updated: 您的密码已修改成功,您已登录。\n"),
            (
                "passwords.es.yml",
                "es:\n  title: \"¿Contraseña?\"\n  code: \"2FA\"\n  hint: \"(optional)*\"\n",
            ),
            ("passwords.en.yml", "# Messages of Devise, see the guide.\nen:\n  title: New password\n"),
            ("config/secrets.yml", "production:\n  key: \"${SECRET_KEY}\"\n  enabled: true\n"),
        ] {
            assert!(!may_contain_secrets(path, text.as_bytes()), "{path}");
        }
    }

    #[test]
    fn files_with_secrets_are_refused() {
        let token = ["ghp", "_16C7e42F292c6912E7710c838347Ae178B4a"].concat();
        for (path, text) in [
            ("tokens.json", format!(r#"{{"github": "{token}"}}"#)),
            ("tokens.json", r#"{"alice": "k9Xw2QpLr7Tz4VbN8mYc"}"#.to_owned()),
            ("tokens.json", r#"{"alice": "s3cr3tw0rd"}"#.to_owned()),
            ("tokens.json", r#"{"color": {"value": "k9Xw2QpLr7Tz4VbN8mYc", "type": "color"}}"#.to_owned()),
            ("passwords.yml", "alice: correcthorse\nbob: letmein\n".to_owned()),
            ("passwords.yml", "alice: correct horse battery staple\n".to_owned()),
            ("passwords.yml", "alice: 123456\n".to_owned()),
            ("passwords.en.yml", "en:\n  alice: hunter2\n".to_owned()),
            (
                "credentials.json",
                r#"{"installed": {"client_id": "1234-abc.apps.example.org", "client_secret": "x"}}"#
                    .to_owned(),
            ),
            ("secrets.yml", "production:\n  secret_key_base: 0123456789abcdef0123456789abcdef\n".to_owned()),
            ("secrets.yaml", "db: hunter\n".to_owned()),
            ("secrets.qa.yaml", "en: hunter\n".to_owned()),
            ("tokens.json", r#"{"k9Xw2QpLr7Tz4VbN8mYc": {"name": "alice", "type": "admin"}}"#.to_owned()),
            ("tokens.json", r#"{"d3adbeefcafebabe0123456789abcdef": 1}"#.to_owned()),
            ("secrets.json", r#"{"k9Xw2QpLr7Tz4VbN8mYc": true}"#.to_owned()),
            ("secrets.json", r#"{"a": "k9Xw2QpLr7Tz4VbN8mYc", "a": ""}"#.to_owned()),
            ("passwords.yml", "hunter2secret:\nTr0ub4dor9x: true\n".to_owned()),
            ("secrets.toml", "# alice hunter2secret\n[production]\n".to_owned()),
            ("secrets.yml", "# prod db: admin / swordfish\ndb:\n".to_owned()),
            ("tokens.json", r#"{"alice": "830194726512"}"#.to_owned()),
            ("tokens.json", r#"{"bob": 48210377415}"#.to_owned()),
            ("tokens.json", r#"{"carl": "83019472ab"}"#.to_owned()),
            ("tokens.json", r#"{"deploy": {"name": "deploy", "value": "hunter2secret"}}"#.to_owned()),
            ("tokens.json", r#"{"deploy": {"value": "Sommer2024!"}}"#.to_owned()),
            ("tokens.json", r#"{"alice": "blue tractor seven spoons"}"#.to_owned()),
            ("secrets.eu.yaml", "alice: swordfish\nbob: letmein\n".to_owned()),
            ("secrets.it-dev.yml", "alice: swordfish\n".to_owned()),
            ("messages/secrets.yml", "alice: swordfish\n".to_owned()),
            ("passwords.de.yml", "alice: Sommerregen\nadmin: Hauptstadt\n".to_owned()),
            ("secrets.yml", "alice: correct horse battery staple!\n".to_owned()),
            ("passwords.yml", "alice: my password is swordfish\n".to_owned()),
            ("secrets.yml", "alice: 123\n".to_owned()),
            ("secrets.json", "not json".to_owned()),
            ("tokens.json", format!("[{}]", "1,".repeat(200_000) + "1")),
            ("tokens.json", "[".repeat(1000)),
        ] {
            assert!(may_contain_secrets(path, text.as_bytes()), "{path}: {}", &text[..text.len().min(80)]);
        }
        assert!(may_contain_secrets("tokens.json", b"\xff\xfe{\0}\0"));
    }

    #[test]
    fn other_files_are_not_examined() {
        for path in
            ["package.json", "src/tokens.rs", "tokens.css", "secrets.example.yaml", "templates/secrets.yaml"]
        {
            assert!(!may_contain_secrets(path, b"alice: hunter2"), "{path}");
        }
    }
}
