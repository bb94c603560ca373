//! The rules: token formats, words of secret names, values that are not secrets. Parsed once, at first use.

use std::collections::HashSet;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use regex::{Regex, RegexBuilder};
use serde::Deserialize;

/// The rule files, in the order in which the digest of the rules includes them.
pub(super) const DATA: [&str; 3] =
    [include_str!("tokens.toml"), include_str!("words.toml"), include_str!("files.toml")];

/// The format of a token.
#[derive(Debug)]
pub(super) struct Rule {
    /// The kind in the replacement `[REDACTED:kind]`.
    pub(super) kind: String,
    /// Matched at the keyword, or up to `back` bytes before it; compiled at first use.
    source: String,
    compiled: OnceLock<Option<Regex>>,
    /// Maximum number of bytes of the token before the keyword.
    pub(super) back: usize,
    /// Whether the token may follow a letter or digit.
    pub(super) inside: bool,
    /// Whether a letter or digit may follow the token.
    pub(super) open: bool,
    /// Minimum entropy in bits per character.
    pub(super) entropy: f64,
    /// Whether the token must contain a digit.
    pub(super) digit: bool,
}

impl Rule {
    /// The compiled pattern; `None` if it is invalid, which the tests exclude.
    pub(super) fn pattern(&self) -> Option<&Regex> {
        let compiled = || {
            RegexBuilder::new(&format!(r"\A(?:{})", self.source)).size_limit(PATTERN_BYTES_MAX).build().ok()
        };
        self.compiled.get_or_init(compiled).as_ref()
    }
}

/// The use of a matched keyword.
#[derive(Debug, Clone)]
pub(super) enum KeywordUse {
    /// Possibly a token of the rule at this index; the text is the exact spelling of the keyword.
    Token(usize, String),
    /// Part of a name that may be assigned a secret.
    Name,
    /// A URL.
    Url,
    /// `Bearer` or another scheme of the `Authorization` header.
    Scheme,
}

/// All parsed rules.
#[derive(Debug)]
pub(super) struct Rules {
    /// Finds the keywords of all rules in one pass.
    pub(super) words: AhoCorasick,
    /// The use of each keyword, by its index.
    pub(super) found: Vec<KeywordUse>,
    pub(super) tokens: Vec<Rule>,
    pub(super) names: Names,
    pub(super) placeholders: AhoCorasick,
    pub(super) values: HashSet<String>,
    /// For each letter, a bit set of the letters that often follow it in words.
    pub(super) followers: [u32; 26],
    pub(super) files: Files,
}

/// Words that classify names.
#[derive(Debug)]
pub(super) struct Names {
    pub(super) password: HashSet<String>,
    pub(super) secret: HashSet<String>,
    pub(super) key_of: HashSet<String>,
    pub(super) about: HashSet<String>,
    pub(super) about_before: HashSet<String>,
}

/// Lower-case names of files that contain secrets.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Files {
    pub(super) names: HashSet<String>,
    pub(super) extensions: HashSet<String>,
    pub(super) stems: Vec<String>,
    pub(super) data: HashSet<String>,
    pub(super) templates: HashSet<String>,
    pub(super) ends: Vec<String>,
    pub(super) samples: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokensFile {
    rule: Vec<TokenRule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenRule {
    kind: String,
    words: Vec<String>,
    pattern: String,
    #[serde(default)]
    back: usize,
    #[serde(default)]
    inside: bool,
    #[serde(default)]
    open: bool,
    #[serde(default = "default_entropy")]
    entropy: f64,
    #[serde(default)]
    digit: bool,
}

fn default_entropy() -> f64 {
    2.5
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WordsFile {
    triggers: Vec<String>,
    password: HashSet<String>,
    secret: HashSet<String>,
    key_of: HashSet<String>,
    about: HashSet<String>,
    about_before: HashSet<String>,
    placeholders: Vec<String>,
    values: HashSet<String>,
    followers: Vec<String>,
}

/// Maximum memory of one compiled pattern, in bytes.
const PATTERN_BYTES_MAX: usize = 16 << 20;

/// `Authorization` schemes that are followed by a secret.
pub(super) const SCHEMES: [&str; 3] = ["bearer ", "basic ", "apikey "];

#[expect(clippy::expect_used, reason = "constant data that the tests read")]
pub(super) static RULES: LazyLock<Rules> = LazyLock::new(|| read().expect("valid rules"));

fn read() -> Result<Rules, Box<dyn std::error::Error>> {
    let tokens: TokensFile = toml::from_str(DATA[0])?;
    let words: WordsFile = toml::from_str(DATA[1])?;
    let mut needles = Vec::new();
    let mut found = Vec::new();
    for trigger in &words.triggers {
        needles.push(trigger.clone());
        found.push(KeywordUse::Name);
    }
    for scheme in SCHEMES {
        needles.push(scheme.to_owned());
        found.push(KeywordUse::Scheme);
    }
    needles.push("://".to_owned());
    found.push(KeywordUse::Url);
    let mut rules = Vec::new();
    for rule in tokens.rule {
        for word in rule.words {
            needles.push(word.clone());
            found.push(KeywordUse::Token(rules.len(), word));
        }
        rules.push(Rule {
            kind: rule.kind,
            source: rule.pattern,
            compiled: OnceLock::new(),
            back: rule.back,
            inside: rule.inside,
            open: rule.open,
            entropy: rule.entropy,
            digit: rule.digit,
        });
    }
    let automaton = |needles: &[String]| {
        AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::DFA))
            .ascii_case_insensitive(true)
            .build(needles)
    };
    Ok(Rules {
        words: automaton(&needles)?,
        found,
        tokens: rules,
        names: Names {
            password: words.password,
            secret: words.secret,
            key_of: words.key_of,
            about: words.about,
            about_before: words.about_before,
        },
        placeholders: automaton(&words.placeholders)?,
        values: words.values,
        followers: followers(&words.followers),
        files: toml::from_str(DATA[2])?,
    })
}

/// Parses lines such as `a:bc`: `b` and `c` often follow `a`.
fn followers(lines: &[String]) -> [u32; 26] {
    let mut table = [0; 26];
    for (first, others) in lines.iter().filter_map(|line| line.split_once(':')) {
        for first in first.bytes().filter(u8::is_ascii_lowercase) {
            table[usize::from(first - b'a')] = others
                .bytes()
                .filter(u8::is_ascii_lowercase)
                .fold(0, |bits, other| bits | 1 << (other - b'a'));
        }
    }
    table
}
