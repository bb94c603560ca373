//! Decides whether a value is a secret rather than a placeholder, reference or word, more or less strictly by its context.

use super::names::SecretClass;
use super::phrases;
use super::rules::RULES;

/// The context of a value, which decides how strictly it is checked; the strictest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ValueContext {
    /// Source code and prose: the value must look random.
    Code,
    /// Configuration: a password can be anything except words.
    Config,
    /// Environment files and properties: a password can be anything.
    EnvFile,
}

/// Longest secret, in bytes.
pub(super) const VALUE_BYTES_MAX: usize = 4096;

/// Returns whether `value` is a secret, given the class of its name.
pub(super) fn is_secret(value: &str, class: SecretClass, context: ValueContext) -> bool {
    if class == SecretClass::Password && phrases::is_passphrase(value, context) {
        return true;
    }
    if value.len() > VALUE_BYTES_MAX || !is_literal(value) {
        return false;
    }
    match (class, context) {
        (SecretClass::Password, ValueContext::Code) => looks_random(value) && !is_reference(value),
        (SecretClass::Password, ValueContext::Config) => is_password(value, false) && !is_reference(value),
        (SecretClass::Password, ValueContext::EnvFile) => is_password(value, true),
        (SecretClass::Token | SecretClass::Header, ValueContext::Code) => {
            looks_random(value) && is_token(value) || is_basic(value)
        }
        (SecretClass::Token | SecretClass::Header, _) => is_token(value) || is_basic(value),
        (SecretClass::Key, _) => is_key(value, context),
    }
}

/// Returns whether the password part of a URL is a secret. `is_store`: the scheme is that of a database or broker.
pub(super) fn is_url_password(value: &str, is_store: bool, context: ValueContext) -> bool {
    if !is_literal(value) || value.contains('{') {
        return false;
    }
    match (is_store, context) {
        (true, ValueContext::EnvFile) => is_password(value, true),
        (true, _) | (false, ValueContext::EnvFile | ValueContext::Config) => is_password(value, false),
        (false, ValueContext::Code) => looks_random(value),
    }
}

/// Returns whether `value` is a `Basic` credential: base64 of `user:password`.
pub(super) fn is_basic(value: &str) -> bool {
    let value = value.trim_end_matches('=');
    if !(8..=400).contains(&value.len()) {
        return false;
    }
    let Some(bytes) = decode_base64(value) else { return false };
    let Ok(text) = String::from_utf8(bytes) else { return false };
    let Some((user, password)) = text.split_once(':') else { return false };
    !user.is_empty() && password.len() >= 3 && !text.chars().any(char::is_control)
}

fn decode_base64(value: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(value.len());
    let (mut bits, mut bit_count) = (0u32, 0);
    for digit in value.bytes() {
        let six_bits = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = (bits << 6 | u32::from(six_bits)) & 0xff_ffff;
        bit_count += 6;
        if bit_count >= 8 {
            bit_count -= 8;
            bytes.push((bits >> bit_count).to_le_bytes()[0]);
        }
    }
    Some(bytes)
}

/// Returns whether a value is a literal: not a placeholder, reference, expression, path or sequence.
pub(super) fn is_literal(value: &str) -> bool {
    !(is_stand_in(value)
        || value.contains(char::is_whitespace)
        || is_file_name(value)
        || RULES.harmless_values.contains(&value.to_lowercase())
        || is_monotonous(value))
}

/// Returns whether a value is empty, or a placeholder, reference, format string or path.
pub(super) fn is_stand_in(value: &str) -> bool {
    let bytes = value.as_bytes();
    let (Some(&first), Some(&last)) = (bytes.first(), bytes.last()) else { return true };
    let is_enclosed = matches!(
        (first, last),
        (b'<', b'>')
            | (b'{', b'}')
            | (b'[', b']')
            | (b'%', b'%')
            | (b'@', b'@')
            | (b'(', b')')
            | (b'_', b'_')
    );
    let is_variable = matches!(first, b'$' | b':' | b'*' | b'&' | b'!') && is_name_or_item(&value[1..]);
    let is_path =
        ["/", "./", "../", "~/", "\\\\", "http:", "https:", "file:", "env:", "env.", "ref:", "classpath:"]
            .iter()
            .any(|start| value.starts_with(start))
            || (bytes.len() > 2
                && bytes[1] == b':'
                && matches!(bytes[2], b'\\' | b'/')
                && first.is_ascii_alphabetic());
    let is_format_string =
        ["%s", "%v", "%q", "%p", "%d", "%x"].iter().any(|mark| value.contains(mark)) && residue(value) < 8;
    is_enclosed && bytes.len() > 1
        || is_variable
        || is_path && !(first == b'/' && bytes.len() >= 32 && residue(value) * 10 >= bytes.len() * 7)
        || is_format_string
        || is_placeholder(value)
}

/// Returns whether the value contains a placeholder word. A short word in mixed case, such as `xXxx`, does not count, because a random
/// value can contain it by chance.
fn is_placeholder(value: &str) -> bool {
    RULES.placeholders.find_iter(value).any(|found| {
        let text = &value[found.range()];
        let rest = &text[text.chars().next().map_or(0, char::len_utf8)..];
        !(rest.bytes().any(|byte| byte.is_ascii_uppercase())
            && rest.bytes().any(|byte| byte.is_ascii_lowercase()))
            || rest.len() > 5
    })
}

/// Returns whether the value is an identifier, with or without an index: `argv[1]`.
fn is_name_or_item(value: &str) -> bool {
    let name = value.strip_suffix(']').and_then(|item| item.split_once('[')).map_or(value, |(name, _)| name);
    is_identifier(name)
}

fn is_identifier(value: &str) -> bool {
    !value.is_empty()
        && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
        && (residue(value) < 8 || value.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_'))
}

/// Returns whether the value is a file name: `server.pem`, `keys/prod.json`.
fn is_file_name(value: &str) -> bool {
    const EXTENSIONS: [&str; 22] = [
        ".pem", ".key", ".json", ".yaml", ".yml", ".txt", ".crt", ".cer", ".p12", ".jks", ".php", ".html",
        ".js", ".ts", ".py", ".rb", ".go", ".java", ".com", ".svg", ".png", ".xml",
    ];
    EXTENSIONS.iter().any(|extension| value.ends_with(extension)) && residue(value) < 12
}

/// Returns whether the value repeats a few characters or consists mostly of runs such as `abcdef` and `12345678`.
fn is_monotonous(value: &str) -> bool {
    let bytes = value.as_bytes();
    let steps = bytes.windows(2).filter(|pair| {
        let step = i16::from(pair[1].to_ascii_lowercase()) - i16::from(pair[0].to_ascii_lowercase());
        matches!(step, -1..=1) && pair[0].is_ascii_alphanumeric() && pair[1].is_ascii_alphanumeric()
    });
    2 * steps.count() > bytes.len() || entropy(value) < 1.5
}

/// Returns whether the value is a reference: `settings.secret_key2`, `req.body.password`, `getToken()`, `Foo::BAR`.
fn is_reference(value: &str) -> bool {
    let is_dotted = value.contains('.')
        && value.split('.').all(|part| {
            part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        });
    let is_call =
        value.ends_with(')') && value.contains('(') || value.ends_with(");") || value.contains("()");
    (is_dotted && residue(value) < 8)
        || is_call
        || value.contains("::")
        || value.contains("->")
        || value.contains("=>")
}

/// Returns whether the value can be a password chosen by a person. `may_be_words`: even if it consists of words.
fn is_password(value: &str, may_be_words: bool) -> bool {
    let length = value.chars().count();
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    let has_symbol = value.bytes().any(|byte| {
        matches!(byte, b'!' | b'@' | b'#' | b'$' | b'%' | b'^' | b'&' | b'*' | b'~' | b'?' | b'+' | b'=')
    });
    if may_be_words {
        return length >= 5
            && (letters > 0 || digits >= 6)
            && !(digits + value.matches('.').count() == length && value.contains('.'));
    }
    if letters == 0 {
        return digits == length && length >= 6 || (has_symbol && digits >= 4 && length >= 8);
    }
    if !value.is_ascii() {
        return length >= 8 && digits >= 1 && has_symbol;
    }
    length >= 6 && ((digits >= 1 && letters >= 2 && !is_version(value)) || (has_symbol && length >= 8))
        || length >= 12 && letters == length && !is_words(value)
}

/// Returns whether the value is a version or a timestamp: `v1.2.3`, `1.0.0-rc1`, `2024-01-01T00:00:00Z`.
pub(super) fn is_version(value: &str) -> bool {
    let value = value.trim_start_matches(['v', 'V', '^', '~', '>', '=']);
    let parts = value.split(['.', '-', ':', '/']).count();
    parts >= 3
        && value.split(['.', ':', '/']).next().is_some_and(|first| {
            first.len() <= 10 && first.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
        })
        && value.len() <= 24
}

/// Returns whether the value is a machine-generated token.
fn is_token(value: &str) -> bool {
    let length = value.len();
    let has = |test: fn(&u8) -> bool| value.bytes().any(|byte| test(&byte));
    let has_digit = has(u8::is_ascii_digit);
    let residue = residue(value);
    length >= 8
        && value.is_ascii()
        && has(u8::is_ascii_alphabetic)
        && !is_reference(value)
        && !is_version(value)
        && entropy(value) >= 2.5
        && residue >= 6
        && residue * 5 >= length * 2
        && (has_digit || length >= 12 && residue * 10 >= length * 8 && !is_words(value))
}

/// Returns whether the value of a name of [`SecretClass::Key`] is a secret key.
fn is_key(value: &str, context: ValueContext) -> bool {
    let has = |test: fn(u8) -> bool| value.bytes().any(test);
    let is_hex = value.bytes().all(|byte| byte.is_ascii_hexdigit());
    let character_kinds = [
        has(|byte| byte.is_ascii_lowercase()),
        has(|byte| byte.is_ascii_uppercase()),
        has(|byte| byte.is_ascii_digit()),
    ];
    let has_all_kinds = character_kinds.into_iter().all(|has_kind| has_kind);
    value.len() >= 24
        && is_token(value)
        && residue(value) * 10 >= value.len() * 7
        && ((has_all_kinds
            && entropy(value) >= 3.8
            && value.bytes().all(|byte| {
                byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_')
            }))
            || (is_hex && context == ValueContext::EnvFile && value.len() >= 32))
}

/// Returns whether a token contains a digit, as nearly all do, or capitals and letter pairs that are rare in words.
pub(super) fn has_digit_or_rare_pairs(token: &str) -> bool {
    token.bytes().any(|byte| byte.is_ascii_digit())
        || token.bytes().any(|byte| byte.is_ascii_uppercase())
            && residue(token) * 10 >= token.len() * 7
            && !is_words(token)
}

/// Returns whether a value is random rather than a word or an expression.
fn looks_random(value: &str) -> bool {
    let has = |test: fn(char) -> bool| value.chars().any(test);
    let character_kinds = [
        has(|c| c.is_lowercase()),
        has(|c| c.is_uppercase()),
        has(|c| c.is_ascii_digit()),
        has(|c| !c.is_alphanumeric() && !matches!(c, '_' | '-' | '.')),
    ];
    let kinds = character_kinds.into_iter().filter(|has_kind| *has_kind).count();
    let length = value.chars().count();
    let is_varied = if has(|c| c.is_ascii_digit()) {
        length >= 8 && (kinds >= 3 || (kinds >= 2 && length >= 16)) && residue(value) >= 3
    } else {
        kinds >= 2 && length >= 12 && residue(value) * 10 >= length * 8 && !is_words(value)
    };
    is_varied && entropy(value) >= 2.8 && !is_version(value)
}

/// Counts the characters that belong neither to words nor to separators: four in `my_token_2023`, nearly all in a random value.
pub(super) fn residue(value: &str) -> usize {
    let bytes = value.as_bytes();
    let mut rest = 0;
    let mut at = 0;
    while at < bytes.len() {
        if !bytes[at].is_ascii_alphabetic() {
            rest += usize::from(!matches!(bytes[at], b'_' | b'-' | b'.' | b' ' | b':' | b'/' | b','));
            at += 1;
            continue;
        }
        // A word is a run of capitals, or one letter of either case and the lower-case letters after it.
        let start = at;
        at += 1;
        if bytes[start].is_ascii_uppercase() && bytes.get(at).is_some_and(u8::is_ascii_uppercase) {
            while bytes.get(at).is_some_and(u8::is_ascii_uppercase) {
                at += 1;
            }
            // The last capital belongs to the next word: `APIKey`.
            if bytes.get(at).is_some_and(u8::is_ascii_lowercase) {
                at -= 1;
            }
        } else {
            while bytes.get(at).is_some_and(u8::is_ascii_lowercase) {
                at += 1;
            }
        }
        let word = &bytes[start..at];
        let (pairs, common) = count_pairs(word);
        let is_word = match word.len() {
            0..=2 => false,
            3 => common == pairs,
            4..=6 => common * 10 >= pairs * 7,
            _ => common * 10 >= pairs * 6,
        };
        if !is_word {
            rest += word.len();
        }
    }
    rest
}

/// Returns whether most letter pairs are common in words.
fn is_words(value: &str) -> bool {
    let (pairs, common) = count_pairs(value.as_bytes());
    common * 20 >= pairs * 11
}

/// Returns the number of letter pairs, and the number of those that are common in words.
fn count_pairs(bytes: &[u8]) -> (usize, usize) {
    let mut all = 0;
    let mut common = 0;
    for pair in bytes.windows(2) {
        let (first, second) = (pair[0].to_ascii_lowercase(), pair[1].to_ascii_lowercase());
        if first.is_ascii_lowercase() && second.is_ascii_lowercase() {
            all += 1;
            let common_next = RULES.common_next_letters[usize::from(first - b'a')];
            common += usize::from(common_next & 1 << (second - b'a') != 0);
        }
    }
    (all, common)
}

/// Returns the Shannon entropy in bits per byte.
pub(super) fn entropy(value: &str) -> f64 {
    let mut counts = [0u32; 256];
    value.bytes().for_each(|byte| counts[usize::from(byte)] += 1);
    let length = f64::from(counts.iter().sum::<u32>());
    counts
        .into_iter()
        .filter(|&count| count > 0)
        .map(|count| f64::from(count) / length)
        .map(|share| -share * share.log2())
        .sum()
}
