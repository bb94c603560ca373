//! The rules: token formats, words in the names of secrets, values that are not secrets. Parsed once, at first use.

use std::collections::HashSet;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use regex::{Regex, RegexBuilder};
use serde::Deserialize;

const TOKENS_TOML: &str = include_str!("tokens.toml");
const WORDS_TOML: &str = include_str!("words.toml");
const FILES_TOML: &str = include_str!("files.toml");

/// The rule files, in the order in which the digest of the rules includes them.
#[cfg(test)]
pub(super) const RULE_FILES: [&str; 3] = [TOKENS_TOML, WORDS_TOML, FILES_TOML];

/// The format of a token.
#[derive(Debug)]
pub(super) struct TokenFormat {
    /// The kind in the replacement `[REDACTED:kind]`.
    pub(super) kind: String,
    /// Regular expression, matched from the start of the token.
    pattern: String,
    /// `pattern`, compiled at first use; `None` if it is invalid.
    regex: OnceLock<Option<Regex>>,
    /// Maximum number of bytes of the token before the keyword.
    pub(super) bytes_before_keyword_max: usize,
    /// `true` if the token may follow a letter, a digit or `_`.
    pub(super) may_follow_word: bool,
    /// `true` if a letter, a digit or `_` may follow the token.
    pub(super) may_precede_word: bool,
    /// Minimum entropy in bits per byte.
    pub(super) entropy_min: f64,
    /// `true` if the token must contain a digit, or capitals and letter pairs that are rare in words.
    pub(super) needs_digit: bool,
}

impl TokenFormat {
    /// Returns the compiled pattern; `None` if it is invalid, which the tests exclude.
    pub(super) fn regex(&self) -> Option<&Regex> {
        let compile = || {
            RegexBuilder::new(&format!(r"\A(?:{})", self.pattern)).size_limit(REGEX_BYTES_MAX).build().ok()
        };
        self.regex.get_or_init(compile).as_ref()
    }
}

/// The use of a keyword.
#[derive(Debug, Clone)]
pub(super) enum KeywordUse {
    /// Part of a token.
    Token {
        /// Index of the format in [`Rules::token_formats`].
        format: usize,
        /// The keyword in the case that the token requires.
        spelling: String,
    },
    /// Part of a name that may be assigned a secret.
    Name,
    /// `://` of a URL.
    Url,
    /// `Bearer` or another scheme of the `Authorization` header.
    Scheme,
}

/// All parsed rules.
#[derive(Debug)]
pub(super) struct Rules {
    /// Finds the keywords of all rules in one pass.
    pub(super) keywords: AhoCorasick,
    /// The use of each keyword, by its index in `keywords`.
    pub(super) keyword_uses: Vec<KeywordUse>,
    pub(super) token_formats: Vec<TokenFormat>,
    pub(super) name_words: NameWords,
    pub(super) placeholders: AhoCorasick,
    /// Lower-case values that are not secrets, whatever their name.
    pub(super) harmless_values: HashSet<String>,
    /// Lower-case English words of labels and messages about passwords.
    pub(super) message_words: HashSet<String>,
    /// Lower-case beginnings of words with digits that are not parts of passphrases: `base64`.
    pub(super) technical_words: Vec<String>,
    /// For each letter, a bit set of the letters that often follow it in words.
    pub(super) common_next_letters: [u32; 26],
    pub(super) file_names: FileNames,
}

/// Words that classify names.
#[derive(Debug)]
pub(super) struct NameWords {
    pub(super) password: HashSet<String>,
    pub(super) secret: HashSet<String>,
    /// Words before `key` in the name of a secret: `api_key`.
    pub(super) before_secret_key: HashSet<String>,
    /// Words after a secret word in a name whose value is not secret: `token_url`.
    pub(super) harmless_after: HashSet<String>,
    /// Words right before a secret word in a name whose value is not secret: `csrf_token`.
    pub(super) harmless_before: HashSet<String>,
}

/// Lower-case names of files that contain secrets.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileNames {
    pub(super) names: HashSet<String>,
    pub(super) extensions: HashSet<String>,
    pub(super) data_file_stems: Vec<String>,
    pub(super) stems_by_content: HashSet<String>,
    pub(super) extensions_by_content: HashSet<String>,
    pub(super) data_extensions: HashSet<String>,
    pub(super) template_directories: HashSet<String>,
    pub(super) path_ends: Vec<String>,
    pub(super) sample_words: Vec<String>,
}

/// The structure of `tokens.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokensToml {
    format: Vec<TokenFormatToml>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenFormatToml {
    kind: String,
    keywords: Vec<String>,
    pattern: String,
    #[serde(default)]
    bytes_before_keyword_max: usize,
    #[serde(default)]
    may_follow_word: bool,
    #[serde(default)]
    may_precede_word: bool,
    #[serde(default = "default_entropy_min")]
    entropy_min: f64,
    #[serde(default)]
    needs_digit: bool,
}

fn default_entropy_min() -> f64 {
    2.5
}

/// The structure of `words.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WordsToml {
    keywords: Vec<String>,
    password_words: HashSet<String>,
    secret_words: HashSet<String>,
    words_before_secret_key: HashSet<String>,
    harmless_words_after: HashSet<String>,
    harmless_words_before: HashSet<String>,
    placeholders: Vec<String>,
    harmless_values: HashSet<String>,
    message_words: HashSet<String>,
    technical_words: Vec<String>,
    common_next_letters: Vec<String>,
}

/// Maximum memory of one compiled pattern, in bytes.
const REGEX_BYTES_MAX: usize = 16 << 20;

/// `Authorization` schemes that are followed by a secret.
pub(super) const SCHEMES: [&str; 3] = ["bearer ", "basic ", "apikey "];

#[expect(clippy::expect_used, reason = "constant data that the tests parse")]
pub(super) static RULES: LazyLock<Rules> = LazyLock::new(|| parse_rules().expect("valid rules"));

fn parse_rules() -> Result<Rules, Box<dyn std::error::Error>> {
    let tokens: TokensToml = toml::from_str(TOKENS_TOML)?;
    let words: WordsToml = toml::from_str(WORDS_TOML)?;
    let mut keywords = Vec::new();
    let mut keyword_uses = Vec::new();
    for keyword in &words.keywords {
        keywords.push(keyword.clone());
        keyword_uses.push(KeywordUse::Name);
    }
    for scheme in SCHEMES {
        keywords.push(scheme.to_owned());
        keyword_uses.push(KeywordUse::Scheme);
    }
    keywords.push("://".to_owned());
    keyword_uses.push(KeywordUse::Url);
    let mut token_formats = Vec::new();
    for format in tokens.format {
        for keyword in format.keywords {
            keywords.push(keyword.clone());
            keyword_uses.push(KeywordUse::Token { format: token_formats.len(), spelling: keyword });
        }
        token_formats.push(TokenFormat {
            kind: format.kind,
            pattern: format.pattern,
            regex: OnceLock::new(),
            bytes_before_keyword_max: format.bytes_before_keyword_max,
            may_follow_word: format.may_follow_word,
            may_precede_word: format.may_precede_word,
            entropy_min: format.entropy_min,
            needs_digit: format.needs_digit,
        });
    }
    let automaton = |keywords: &[String]| {
        AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::DFA))
            .ascii_case_insensitive(true)
            .build(keywords)
    };
    Ok(Rules {
        keywords: automaton(&keywords)?,
        keyword_uses,
        token_formats,
        name_words: NameWords {
            password: words.password_words,
            secret: words.secret_words,
            before_secret_key: words.words_before_secret_key,
            harmless_after: words.harmless_words_after,
            harmless_before: words.harmless_words_before,
        },
        placeholders: automaton(&words.placeholders)?,
        harmless_values: words.harmless_values,
        message_words: words.message_words,
        technical_words: words.technical_words,
        common_next_letters: common_next_letters(&words.common_next_letters),
        file_names: toml::from_str(FILES_TOML)?,
    })
}

/// Parses lines such as `a:bc`: `b` and `c` often follow `a`.
fn common_next_letters(lines: &[String]) -> [u32; 26] {
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
