//! Secrets in text are replaced before anything is stored or embedded (serving.md, "Secrets").

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex, RegexSet};

/// Counts what is replaced: a repository that was read under another version is read anew.
pub(super) const REDACTION_VERSION: u32 = 1;

/// A text without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted<'t> {
    /// Each secret is now `[REDACTED:kind]`; there are as many lines as before.
    pub text: Cow<'t, str>,
    /// How many were replaced.
    pub count: usize,
}

/// Kind, pattern, and whether the secret (group `s`, else the whole match) must also look random.
const PATTERNS: &[(&str, &str, bool)] = &[
    (
        "private_key",
        r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|\z)",
        false,
    ),
    ("aws_access_key", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b", false),
    (
        "aws_secret_key",
        r#"(?i)\baws_?secret_?(?:access_?)?key["']?\s*[:=]\s*["']?(?<s>[A-Za-z0-9/+]{40})\b"#,
        true,
    ),
    ("google_api_key", r"\bAIza[0-9A-Za-z_-]{35}", false),
    ("google_oauth_secret", r"\bGOCSPX-[0-9A-Za-z_-]{28}", false),
    ("azure_key", r"\bAccountKey=(?<s>[A-Za-z0-9+/]{86}==)", false),
    ("github_token", r"\b(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255})\b", false),
    ("gitlab_token", r"\bgl(?:pat|ptt|dt|rt|soat|cbt)-[A-Za-z0-9_-]{20,}", false),
    ("slack_token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}", false),
    ("slack_webhook", r"https://hooks\.slack\.com/services/T[A-Z0-9]+/B[A-Z0-9]+/[A-Za-z0-9]{16,}", false),
    ("stripe_key", r"\b(?:sk|rk|whsec)_(?:live_|test_)?[A-Za-z0-9]{24,}\b", true),
    ("sendgrid_key", r"\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}", false),
    ("npm_token", r"\bnpm_[A-Za-z0-9]{36}\b", true),
    ("pypi_token", r"\bpypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50,}", false),
    ("huggingface_token", r"\bhf_[A-Za-z0-9]{34,}\b", true),
    ("digitalocean_token", r"\bdo[opr]_v1_[a-f0-9]{64}\b", false),
    ("llm_api_key", r"\bsk-(?:ant-|proj-|svcacct-)?[A-Za-z0-9_-]{32,}", true),
    ("jwt", r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}", false),
    (
        "url_password",
        r"\b[a-z][a-z0-9+.-]*://[^\s:/@'\x22<>]+:(?<s>[^\s:/@'\x22<>]{6,100})@[A-Za-z0-9\[]",
        true,
    ),
    (
        "password",
        r#"(?i)(?:password|passwd|passphrase|pwd|secret|token|api_?key|access_?key|auth_?key|credential)s?["'\]]*\s*(?::=|=>|=|:)\s*(?:"(?<s>[^"\s\\]{8,200})"|'(?<t>[^'\s\\]{8,200})')"#,
        true,
    ),
];

/// Words of which every pattern holds one. Finding them is fast; patterns are tried only on lines that have one.
const KEYWORDS: &str = r"AKIA|ASIA|ABIA|ACCA|AIza|GOCSPX-|AccountKey=|gh[pousr]_|github_pat_|gl(?:pat|ptt|dt|rt|soat|cbt)-|xox[abeoprs]-|hooks\.slack|[sr]k_|whsec_|SG\.|npm_|pypi-|hf_|do[opr]_v1_|sk-|eyJ|PRIVATE KEY|://[^\s/@]+@|(?i:passw|passph|pwd|secret|token|api_?key|access_?key|auth_?key|credential)";

/// Marks a key block, the one secret that has several lines.
const KEY_BLOCK: &str = "-----BEGIN ";

struct Table {
    keyword: Regex,
    /// One pass tells which patterns occur at all; mostly none do.
    any: RegexSet,
    each: Vec<Regex>,
}

#[expect(clippy::expect_used, reason = "constant patterns that the tests compile")]
static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let patterns = || PATTERNS.iter().map(|(_, pattern, _)| *pattern);
    Table {
        keyword: Regex::new(KEYWORDS).expect("valid words"),
        any: RegexSet::new(patterns()).expect("valid patterns"),
        each: patterns().map(|pattern| Regex::new(pattern).expect("a valid pattern")).collect(),
    }
});

/// Replaces what looks like a secret. Linear in the text.
#[must_use]
pub fn redact(text: &str) -> Redacted<'_> {
    let mut count = 0;
    // Key blocks first: they have several lines, everything else has one.
    let blocks =
        if text.contains(KEY_BLOCK) { replace(0, Cow::Borrowed(text), &mut count) } else { text.into() };
    let mut redacted = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(word) = TABLE.keyword.find_at(&blocks, at) {
        let start = blocks[..word.start()].rfind('\n').map_or(0, |end| end + 1);
        let end = blocks[word.end()..].find('\n').map_or(blocks.len(), |end| word.end() + end);
        let before = count;
        let line = TABLE
            .any
            .matches(&blocks[start..end])
            .iter()
            .fold(Cow::Borrowed(&blocks[start..end]), |line, at| replace(at, line, &mut count));
        if count > before {
            redacted.push_str(&blocks[copied..start]);
            redacted.push_str(&line);
            copied = end;
        }
        at = end;
    }
    if copied == 0 {
        return Redacted { text: blocks, count };
    }
    redacted.push_str(&blocks[copied..]);
    Redacted { text: Cow::Owned(redacted), count }
}

/// Replaces the secrets of one pattern.
fn replace<'t>(pattern: usize, text: Cow<'t, str>, count: &mut usize) -> Cow<'t, str> {
    let (kind, _, must_be_random) = PATTERNS[pattern];
    let before = *count;
    let replaced = TABLE.each[pattern].replace_all(&text, |captures: &Captures<'_>| {
        let found = replacement(captures, kind, must_be_random);
        *count += usize::from(found.is_some());
        found.unwrap_or_else(|| captures[0].to_owned())
    });
    if *count == before { text } else { Cow::Owned(replaced.into_owned()) }
}

/// The match with its secret replaced; nothing where it does not look like one.
fn replacement(captures: &Captures<'_>, kind: &str, must_be_random: bool) -> Option<String> {
    let whole = captures.get(0)?;
    let secret = captures.name("s").or_else(|| captures.name("t")).unwrap_or(whole);
    if must_be_random && !looks_random(secret.as_str()) {
        return None;
    }
    let before = &whole.as_str()[..secret.start() - whole.start()];
    let after = &whole.as_str()[secret.end() - whole.start()..];
    let lines = "\n".repeat(secret.as_str().matches('\n').count());
    Some(format!("{before}[REDACTED:{kind}]{lines}{after}"))
}

/// Whether a value is random rather than a word, a placeholder or an expression.
fn looks_random(value: &str) -> bool {
    let expression =
        ["${", "{{", "<", "[REDACTED", "%(", "$(", "%s", "process.env", "os.environ", "...", "xxxx", "XXXX"];
    let has = |test: fn(char) -> bool| value.chars().any(test);
    let kinds = [
        has(|c| c.is_lowercase()),
        has(|c| c.is_uppercase()),
        has(|c| c.is_ascii_digit()),
        has(|c| !c.is_alphanumeric() && !matches!(c, '_' | '-' | '.')),
    ];
    let kinds = kinds.into_iter().filter(|kind| *kind).count();
    let long = value.chars().count() >= 20;
    !expression.iter().any(|mark| value.contains(mark))
        && has(|c| c.is_ascii_digit())
        && (kinds >= 3 || (kinds >= 2 && long))
        && entropy(value) >= 2.8
}

/// Shannon entropy in bits a character.
fn entropy(value: &str) -> f64 {
    let mut counts = std::collections::HashMap::new();
    value.chars().for_each(|c| *counts.entry(c).or_insert(0u32) += 1);
    let length = f64::from(counts.values().sum::<u32>());
    counts.values().map(|&count| f64::from(count) / length).map(|share| -share * share.log2()).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The tokens are put together here so that scanners of this repository do not find them.
    fn joined(parts: &[&str]) -> String {
        parts.concat()
    }

    #[test]
    fn secrets_are_replaced_and_their_surroundings_stay() {
        let random40 = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzKEY9";
        for (text, expected) in [
            (joined(&["key = AKIA", "IOSFODNN7EXAMPLE;"]), "key = [REDACTED:aws_access_key];"),
            (
                joined(&["aws_secret_access_key = ", random40]),
                "aws_secret_access_key = [REDACTED:aws_secret_key]",
            ),
            (joined(&["x AIza", "SyA1234567890abcdefghijklmnopqrstuv y"]), "x [REDACTED:google_api_key] y"),
            (joined(&["ghp", "_16C7e42F292c6912E7710c838347Ae178B4a"]), "[REDACTED:github_token]"),
            (joined(&["\"glpat", "-abcdEFGH1234ijklMNOP\""]), "\"[REDACTED:gitlab_token]\""),
            (joined(&["xoxb", "-123456789012-abcdefABCDEF"]), "[REDACTED:slack_token]"),
            (joined(&["sk_live", "_4eC39HqLyjWDarjtT1zdp7dc"]), "[REDACTED:stripe_key]"),
            (
                joined(&["a eyJhbGciOiJIUzI1NiJ9", ".eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmN b"]),
                "a [REDACTED:jwt] b",
            ),
            (
                joined(&["postgres://app:", "s3cr3tPa55word@db:5432/x"]),
                "postgres://app:[REDACTED:url_password]@db:5432/x",
            ),
            (joined(&["password = \"", "hunter2!Xy\""]), "password = \"[REDACTED:password]\""),
            (
                joined(&["  'api_key' => '", "9f8e7d6c5b4a39281706f5e4',"]),
                "  'api_key' => '[REDACTED:password]',",
            ),
            (
                joined(&[
                    "a\n-----BEGIN RSA ",
                    "PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----\nb",
                ]),
                "a\n[REDACTED:private_key]\n\n\n\nb",
            ),
            (
                joined(&["one\r\ntwo ghp", "_16C7e42F292c6912E7710c838347Ae178B4a\r\nthree"]),
                "one\r\ntwo [REDACTED:github_token]\r\nthree",
            ),
            (joined(&["-----BEGIN ", "PRIVATE KEY-----\nMIIE\n"]), "[REDACTED:private_key]\n\n"),
        ] {
            let redacted = redact(&text);
            assert_eq!(redacted.text, expected);
            assert_eq!(redacted.count, 1, "{text}");
        }
    }

    #[test]
    fn what_only_looks_like_a_secret_stays() {
        for text in [
            "password = \"password\"",
            "password = \"correct_horse\"",
            "password: \"${DB_PASSWORD_1}\"",
            "token = \"<your-token-1A>\"",
            "secret = settings.secret_key2",
            "let token = tokens[\"identifier\"];",
            "api_key = os.environ[\"API_KEY_2A\"]",
            "https://example.org:8443/path@2x.png",
            "postgres://user:password@localhost/db",
            "commit 16c7e42f292c6912e7710c838347ae178b4a0000",
            "-----BEGIN CERTIFICATE-----",
            "AKIAISNOTAKEY",
            "eyJhbGciOiJIUzI1NiJ9",
            "sk-button-primary-hover-state-with-shadow-and-border",
        ] {
            assert_eq!(redact(text), Redacted { text: Cow::Borrowed(text), count: 0 }, "{text}");
        }
    }

    #[test]
    fn all_are_counted() {
        let key = joined(&["AKIA", "IOSFODNN7EXAMPLE"]);
        let redacted = redact(&format!("{key}\n{key}\n")).count;
        assert_eq!(redacted, 2);
    }

    proptest! {
        #[test]
        fn lines_stay_and_a_second_time_changes_nothing(
            parts in prop::collection::vec(prop::sample::select(vec![
                "password = \"", "a1B!c2D?e3", "\"", "\n", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----",
                "ghp_16C7e42F292c6912E7710c838347Ae178B4a", " ", "://a:", "@b", "é", "AKIAIOSFODNN7EXAMPLE", "eyJ", ".",
            ]), 0..30),
        ) {
            let text = parts.concat();
            let once = redact(&text);
            prop_assert_eq!(once.text.matches('\n').count(), text.matches('\n').count());
            let again = redact(&once.text);
            prop_assert_eq!((&again.text, again.count), (&once.text, 0));
        }
    }
}
