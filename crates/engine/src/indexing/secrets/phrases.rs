//! Decides whether a value with spaces is a passphrase rather than a sentence, a label, a list or a command.

use super::rules::RULES;
use super::values::{self, ValueContext};

/// Shortest and longest passphrase, in bytes.
const PHRASE_BYTES_MIN: usize = 8;
const PHRASE_BYTES_MAX: usize = 160;
/// Maximum number of words of a passphrase.
const WORDS_MAX: usize = 12;

/// Degree to which a word looks like part of a passphrase; the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum WordKind {
    /// A word, a number, a measure (`64bit`), a technical term (`SHA256`).
    Ordinary,
    /// A word with a number (`river48`, `river#48`), or letters that do not form a word (`xKjwqP`).
    Unusual,
    /// Digits among letters, or a symbol between letters and digits: `corr3ct`, `9xYz`, `sunny!42`.
    Mixed,
}

/// Returns whether `value` consists of several words and is a passphrase. In code, at least half of the words must be unusual; elsewhere
/// one of six, if no other word is typical of labels and messages.
pub(super) fn is_passphrase(value: &str, context: ValueContext) -> bool {
    if !(PHRASE_BYTES_MIN..=PHRASE_BYTES_MAX).contains(&value.len())
        || !value.contains(' ')
        || value.starts_with(['!', '&', '*'])
        || value.contains(['{', '}', '<', '>', '[', ']', '(', ')', '\\', '"', '`', '=', '/', '|', '\t', '\n'])
    {
        return false;
    }
    let words: Vec<&str> = value.split(' ').filter(|word| !word.is_empty()).take(WORDS_MAX + 1).collect();
    if !(2..=WORDS_MAX).contains(&words.len()) || words.iter().any(|word| is_syntax(word)) {
        return false;
    }
    let kinds = || words.iter().map(|word| word_kind(word));
    let mixed = kinds().filter(|kind| *kind == WordKind::Mixed).count();
    let marked = kinds().filter(|kind| *kind > WordKind::Ordinary).count();
    let length: usize = words.iter().map(|word| word.len()).sum();
    let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
    let is_random = mixed >= 1 || has_digit && 10 * values::residue(value) >= 6 * length;
    let is_mostly_marked = is_random && marked >= 2 && 2 * marked >= words.len();
    let is_marked = (mixed >= 1 || marked >= 2) && 6 * marked >= words.len();
    let is_phrase = is_mostly_marked || context > ValueContext::Code && is_marked && !is_message(&words);
    is_phrase && !values::is_stand_in(value)
}

/// Returns whether the word is part of a list, of a sentence with several clauses, or of a command.
fn is_syntax(word: &str) -> bool {
    let is_long = word.len() > 1;
    word.ends_with([',', ':', ';']) || is_long && word.starts_with(['$', '%', '-'])
}

/// Returns whether one of the words is typical of English labels and messages about passwords.
fn is_message(words: &[&str]) -> bool {
    words.iter().any(|word| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        word.split(['-', '\'', '’']).any(|part| RULES.message_words.contains(part))
    })
}

/// Returns whether the word does not look like part of a passphrase: a word, a number, a measure, a technical term.
pub(super) fn is_ordinary(word: &str) -> bool {
    word_kind(word) == WordKind::Ordinary
}

fn word_kind(word: &str) -> WordKind {
    let plain = word.trim_matches(|c: char| c.is_ascii_punctuation());
    let is_address = plain.contains('@') && plain.contains('.');
    if plain.starts_with("0x") || is_address || values::is_version(plain) {
        return WordKind::Ordinary;
    }
    let has = |test: fn(&u8) -> bool| plain.bytes().any(|byte| test(&byte));
    let has_both = has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic);
    if has_both && plain.contains(['!', '@', '$', '%', '^', '*', '~']) {
        return WordKind::Mixed;
    }
    if has_both && plain.len() >= 5 && plain.contains(['#', '+', '&']) {
        return WordKind::Unusual;
    }
    let parts = plain.split(|c: char| c.is_ascii_punctuation() || !c.is_ascii());
    parts.map(part_kind).max().unwrap_or(WordKind::Ordinary)
}

/// Returns the kind of a run of ASCII letters and digits.
fn part_kind(part: &str) -> WordKind {
    let lower = part.to_ascii_lowercase();
    if RULES.technical_words.iter().any(|word| lower.starts_with(word.as_str())) {
        return WordKind::Ordinary;
    }
    let runs: Vec<&[u8]> =
        part.as_bytes().chunk_by(|first, second| first.is_ascii_digit() == second.is_ascii_digit()).collect();
    let is_upper = |run: &[u8]| run.iter().all(u8::is_ascii_uppercase);
    let is_digits = |run: &[u8]| run[0].is_ascii_digit();
    // `word`, `Word` or `WORD`.
    let is_uniform = |run: &[u8]| is_upper(run) || run[1..].iter().all(|byte| !byte.is_ascii_uppercase());
    if !runs.iter().all(|run| is_uniform(run)) {
        let residue = values::residue(part);
        return match runs.len() {
            1 if part.len() >= 4 && residue == part.len() => WordKind::Unusual,
            2.. if 2 * residue >= part.len() => WordKind::Mixed,
            _ => WordKind::Ordinary,
        };
    }
    match runs.as_slice() {
        // `v2`, `SHA256`; `64bit`.
        [letters, digits] if is_digits(digits) && (letters.len() == 1 || is_upper(letters)) => {
            WordKind::Ordinary
        }
        [digits, letters] if is_digits(digits) && letters.len() <= 4 => WordKind::Ordinary,
        [_, _] => WordKind::Unusual,
        // `i18n`, `k8s`, but not `d0g`; `1920x1080`, `2024Q1`.
        [first, middle, last]
            if is_digits(middle)
                && first.len() == 1
                && last.len() == 1
                && (middle.len() > 1 || b"2689".contains(&middle[0])) =>
        {
            WordKind::Ordinary
        }
        [first, middle, _] if is_digits(first) && middle.len() == 1 => WordKind::Ordinary,
        // `oracle19c`, `win32api`.
        [_, middle, _] if is_digits(middle) && middle.len() >= 2 => WordKind::Unusual,
        [] | [_] => WordKind::Ordinary,
        _ => WordKind::Mixed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_classified() {
        for (word, expected) in [
            ("horse", WordKind::Ordinary),
            ("2024", WordKind::Ordinary),
            ("v2", WordKind::Ordinary),
            ("SHA256", WordKind::Ordinary),
            ("base64url", WordKind::Ordinary),
            ("base64-encoded", WordKind::Ordinary),
            ("64bit", WordKind::Ordinary),
            ("2FA.", WordKind::Ordinary),
            ("i18n", WordKind::Ordinary),
            ("k8s", WordKind::Ordinary),
            ("1920x1080", WordKind::Ordinary),
            ("0x1f4e", WordKind::Ordinary),
            ("1.2.3-rc1", WordKind::Ordinary),
            ("jane1987x@example.org", WordKind::Ordinary),
            ("GitHub", WordKind::Ordinary),
            ("DbPassword2", WordKind::Ordinary),
            ("8文字以上", WordKind::Ordinary),
            ("river48", WordKind::Unusual),
            ("77spoons", WordKind::Unusual),
            ("xKjwqP", WordKind::Unusual),
            ("corr3ct", WordKind::Mixed),
            ("d0g", WordKind::Mixed),
            ("H0rse", WordKind::Mixed),
            ("9xYz", WordKind::Mixed),
            ("b4tt3ry!", WordKind::Mixed),
            ("beach!77", WordKind::Mixed),
            ("river#48", WordKind::Unusual),
        ] {
            assert_eq!(word_kind(word), expected, "{word}");
        }
    }

    #[test]
    fn passphrases_in_code_consist_mostly_of_mixed_words() {
        for phrase in
            ["corr3ct H0rse 9xYz", "tr0ub4dor and b4ttery", "Kx9wQ! mW2pL vT5z@", "Zq5-VcLp Tnl5#THLd"]
        {
            assert!(is_passphrase(phrase, ValueContext::Code), "{phrase}");
        }
        for text in [
            "correct horse battery staple",
            "blue Tr4ctor seven spoons",
            "must not be empty",
            "Password must have 8 to 64 characters",
            "SHA256 or MD5",
            "a1b2c3, d4e5f6",
            "user=a1b2c3 pass=d4e5f6",
            "${A1b2} ${c3D4}",
            "pass show db1x/prod2y",
            "openssl3x -p4ss w0rd",
            "!Ref d4t4b4se",
        ] {
            assert!(!is_passphrase(text, ValueContext::Code), "{text}");
        }
    }

    #[test]
    fn passphrases_in_configuration_need_one_mixed_word_and_are_no_messages() {
        for phrase in [
            "corr3ct H0rse 9xYz", "blue Tr4ctor seven spoons", "river48 stone77 cloud",
            "my h0rse has 4 legs!", "Tr0ub4dor and 3 sheep",
        ] {
            assert!(is_passphrase(phrase, ValueContext::Config), "{phrase}");
        }
        for text in [
            "correct horse battery staple",
            "Enter your password",
            "Mot de passe (8 à 64 caractères)",
            "8 Zeichen, 1 Zahl",
            "Enter the s3cret of the account",
            "Use OAuth2 or SAML2",
            "WPA2 PSK",
            "MySQL Kennwort",
            "Contraseña de 2FA",
        ] {
            assert!(!is_passphrase(text, ValueContext::Config), "{text}");
        }
    }
}
