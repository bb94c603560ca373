//! Names of operators that are written with a word of their own, as in C++: `operator+`, `operator""_km`, `operator new[]`,
//! `operator std::string`.

/// The word before the signs of an operator, and before the type to which one converts.
pub(super) const OPERATOR: &str = "operator";
/// The quotes between that word and the suffix of a literal operator.
const LITERAL: &str = "\"\"";
/// Operators that are words; the first two allocate arrays as well.
const WORDS: &[&str] = &["new", "delete", "new[]", "delete[]", "co_await"];
/// Words of the language's own types.
const TYPE_WORDS: &[&str] = &[
    "auto", "bool", "char", "char16_t", "char32_t", "char8_t", "const", "double", "float", "int", "long",
    "short", "signed", "unsigned", "void", "volatile", "wchar_t",
];

/// The signs of an operator that is written with the word for it, without white space: of `operator ==` they are `==`.
pub(super) fn signs(name: &str) -> Option<String> {
    let signs = name.strip_prefix(OPERATOR)?;
    let begins = signs.trim_start().chars().next()?;
    (!is_word(begins)).then(|| signs.split_whitespace().collect())
}

/// The name of an operator of C++, perhaps with what it belongs to, in the only form in which it is stored: without parameters, and
/// with white space only between words. `None` for other names.
pub(super) fn of_cpp(name: &str) -> Option<String> {
    let (outer, behind) = divided(name)?;
    let bare = behind.trim_start();
    let begins = bare.chars().next()?;
    let is_type = is_word(begins) || bare.starts_with("::");
    match is_type {
        true if bare.len() == behind.len() => None,
        true => Some(format!("{outer}{OPERATOR} {}", typed(bare))),
        false => Some(format!("{outer}{OPERATOR}{}", bare.split_whitespace().collect::<String>())),
    }
}

/// The name of an operator that a text consists of, perhaps with parameters, if it has white space or is that of a literal. `None` where
/// the words may as well be a question about operators.
pub(super) fn asked(text: &str) -> Option<String> {
    let behind = text.strip_prefix(OPERATOR)?;
    let bare = behind.trim_start();
    let is_apart = bare.len() < behind.len();
    // Queries lose the empty quotes of `operator "" _km`.
    let literal = bare.strip_prefix(LITERAL).or(Some(bare).filter(|bare| is_apart && bare.starts_with('_')));
    if let Some(literal) = literal {
        let suffix = literal.split('(').next().unwrap_or_default().trim();
        let is_name = suffix.starts_with(is_word) && suffix.chars().all(is_word);
        return is_name.then(|| format!("{OPERATOR}{LITERAL}{suffix}"));
    }
    (is_apart && is_certain(&typed(bare))).then(|| of_cpp(text)).flatten()
}

/// Returns the text before the word for operators, and the text after it.
fn divided(name: &str) -> Option<(&str, &str)> {
    name.match_indices(OPERATOR).find_map(|(at, _)| {
        let (outer, behind) = (&name[..at], &name[at + OPERATOR.len()..]);
        let is_whole = !behind.starts_with(is_word) && (at == 0 || outer.trim_end().ends_with("::"));
        is_whole.then_some((outer, behind))
    })
}

/// A type without the parameters after it, and with white space only between words.
fn typed(written: &str) -> String {
    let (mut typed, mut depth, mut is_apart) = (String::new(), 0_usize, false);
    for c in written.chars() {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            '(' if depth == 0 => break,
            _ => {}
        }
        if !c.is_whitespace() {
            if is_apart && is_word(c) && typed.ends_with(is_word) {
                typed.push(' ');
            }
            typed.push(c);
        }
        is_apart = c.is_whitespace();
    }
    typed
}

/// Checks whether a type, or the word of an operator, cannot be part of a sentence about operators: `bool`, `std::string`, `T&`, but not
/// `precedence`.
fn is_certain(typed: &str) -> bool {
    let (mut outside, mut depth) = (String::new(), 0_usize);
    for c in typed.chars() {
        match c {
            '<' => depth += 1,
            '>' if depth > 0 => depth -= 1,
            c if depth == 0 => outside.push(c),
            _ => {}
        }
    }
    let is_of_type = |c: char| is_word(c) || matches!(c, ' ' | ':' | '*' | '&');
    let words = outside.split(|c: char| !is_word(c) && c != ':').filter(|word| !word.is_empty());
    let others = words.filter(|word| !TYPE_WORDS.contains(word)).count();
    let is_marked = typed.contains(['*', '&', '<']) || typed.contains("::");
    let is_type = outside.starts_with(|c: char| is_word(c) || c == ':') && outside.chars().all(is_of_type);
    WORDS.contains(&typed) || (is_type && depth == 0 && (others == 0 || (others == 1 && is_marked)))
}

/// Checks whether a character belongs to the letters of a name. That includes all others outside ASCII except white space, such as emoji.
pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || (!c.is_ascii() && !c.is_whitespace() && !c.is_control())
}
