//! Splits the text of a query into tokens. Never fails, because text that is not syntax is a word.

use std::iter::repeat_n;
use std::ops::Range;

/// Maps a field name to its canonical form; `None` if there is no such field.
pub(super) type Fields<'a> = &'a dyn Fn(&str) -> Option<&'static str>;

/// A token with its byte range in the text.
#[derive(Debug)]
pub(super) struct Lexeme {
    pub(super) token: Token,
    pub(super) span: Range<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    Open,
    Close,
    And,
    Or,
    /// `NOT`, or a `-` or `!` directly before an operand.
    Not,
    Word(String),
    /// Whitespace folded; empty for `""`.
    Phrase(String),
    Field {
        name: &'static str,
        value: String,
    },
    /// `chunk:12`
    Similar(i64),
    /// An unclosed quote.
    Unclosed,
}

impl Token {
    /// Returns the number of words of the token as typed. Printing and parsing the token does not change it.
    pub(super) fn words(&self) -> usize {
        match self {
            Token::Word(_) | Token::Similar(_) => 1,
            Token::Phrase(words) | Token::Field { value: words, .. } => words.split_whitespace().count(),
            Token::Open | Token::Close | Token::And | Token::Or | Token::Not | Token::Unclosed => 0,
        }
    }
}

/// An open round bracket.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bracket {
    /// At the start of a token: `(a OR b)`.
    Group,
    /// Within a word: `render(a, b)`.
    Code,
}

pub(super) struct Lexer<'a> {
    text: &'a str,
    fields: Fields<'a>,
    at: usize,
    brackets: Vec<Bracket>,
    /// `true` if a `-` that follows without a space is not a negation, as in `(a)-b`.
    after_token: bool,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str, fields: Fields<'a>) -> Self {
        Self { text, fields, at: 0, brackets: Vec::new(), after_token: false }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn quoted_phrase(&mut self) -> Token {
        let Some((words, length)) = quoted(self.rest()) else {
            self.at += 1;
            return Token::Unclosed;
        };
        self.at += length;
        Token::Phrase(words.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    fn field_or_word(&mut self) -> Token {
        let rest = self.rest();
        let field = field(rest, self.fields);
        if let Some((name, colon)) = field
            && rest[colon + 1..].starts_with('"')
        {
            return self.quoted_value(name, colon);
        }
        if let Some((name, colon)) = field
            && name == CONTENT
            && let Some(length) =
                slashed_length(&rest[colon + 1..], self.brackets.last() == Some(&Bracket::Group))
        {
            let end = colon + 1 + length;
            self.at += end;
            return Token::Field { name, value: rest[colon + 1..end].to_owned() };
        }
        let word = self.word();
        if let Some(operator) = operator(word) {
            return operator;
        }
        if let Some(chunk) = chunk(word) {
            return Token::Similar(chunk);
        }
        match field {
            // A closing bracket may leave only `lang:` of the word.
            Some((name, colon)) if colon + 1 < word.len() => {
                Token::Field { name, value: word[colon + 1..].to_owned() }
            }
            _ => Token::Word(word.to_owned()),
        }
    }

    fn quoted_value(&mut self, name: &'static str, colon: usize) -> Token {
        let rest = self.rest();
        let Some((value, length)) = quoted(&rest[colon + 1..]) else {
            self.at += colon + 2;
            return Token::Unclosed;
        };
        self.at += colon + 1 + length;
        if value.trim().is_empty() {
            return Token::Word(rest[..=colon].to_owned());
        }
        Token::Field { name, value }
    }

    /// Reads a word, up to whitespace or the bracket that closes the surrounding group.
    fn word(&mut self) -> &'a str {
        let rest = self.rest();
        let mut open = 0;
        let mut end = rest.len();
        for (at, char) in rest.char_indices() {
            match char {
                '(' => open += 1,
                ')' if open > 0 => open -= 1,
                ')' if self.brackets.last() != Some(&Bracket::Group) => {
                    self.brackets.pop();
                }
                char if char == ')' || char.is_whitespace() => {
                    end = at;
                    break;
                }
                _ => {}
            }
        }
        self.brackets.extend(repeat_n(Bracket::Code, open));
        self.at += end;
        &rest[..end]
    }
}

impl Iterator for Lexer<'_> {
    type Item = Lexeme;

    fn next(&mut self) -> Option<Lexeme> {
        let blank = self.rest().len() - self.rest().trim_start().len();
        self.at += blank;
        if blank == 0 && self.after_token && negates(self.rest()) {
            self.at += 1;
        }
        let start = self.at;
        let token = match self.rest().chars().next()? {
            '(' => {
                self.at += 1;
                self.brackets.push(Bracket::Group);
                Token::Open
            }
            ')' if self.brackets.last() == Some(&Bracket::Group) => {
                self.at += 1;
                self.brackets.pop();
                Token::Close
            }
            '"' => self.quoted_phrase(),
            _ if negates(self.rest()) => {
                self.at += 1;
                Token::Not
            }
            _ => self.field_or_word(),
        };
        self.after_token = token != Token::Open;
        Some(Lexeme { token, span: start..self.at })
    }
}

/// The field whose value may be a regular expression with spaces.
const CONTENT: &str = "content";

/// Returns whether a field's value without quotes would be read together with words behind it: it begins like a regular
/// expression and does not end like one.
pub(super) fn is_open_regex(name: &str, value: &str) -> bool {
    name == CONTENT && value.starts_with('/') && slashed_length(value, false) != Some(value.len())
}

/// Returns the length of the `/regular expression/` or `/…/i` at the start of the text: up to a slash without a backslash
/// before it that ends the word. `in_group`: a bracket that was not opened ends it as well.
pub(super) fn slashed_length(text: &str, in_group: bool) -> Option<usize> {
    let mut chars = text.char_indices();
    chars.next().filter(|(_, first)| *first == '/')?;
    let (mut is_escaped, mut open) = (false, 0_usize);
    for (at, char) in chars {
        match char {
            _ if is_escaped && char != '(' && char != ')' => {}
            '/' if at > 1 => {
                let flag = usize::from(text[at + 1..].starts_with('i'));
                let rest = &text[at + 1 + flag..];
                let closes = in_group && open == 0 && rest.starts_with(')');
                if closes || rest.is_empty() || rest.starts_with(char::is_whitespace) {
                    return Some(at + 1 + flag);
                }
            }
            // Counted even behind a backslash, as `balanced` does, so that a printed query is read again.
            '(' => open += 1,
            ')' => open = open.saturating_sub(1),
            _ => {}
        }
        is_escaped = char == '\\' && !is_escaped;
    }
    None
}

/// Returns whether the text starts with a `-` or `!` that is a negation, unlike in `--flag`, `->`, `!=` or `a - b`.
pub(super) fn negates(text: &str) -> bool {
    let starts = |char: char| char.is_alphanumeric() || "\"(_./@#".contains(char);
    text.strip_prefix(['-', '!']).is_some_and(|negated| negated.starts_with(starts))
}

pub(super) fn operator(word: &str) -> Option<Token> {
    match word {
        "AND" => Some(Token::And),
        "OR" => Some(Token::Or),
        "NOT" => Some(Token::Not),
        _ => None,
    }
}

pub(super) fn chunk(word: &str) -> Option<i64> {
    let digits = word.strip_prefix("chunk:")?;
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}

/// Returns the field at the start of the text and the position of its colon, if a value follows. `path::Path` and
/// `file://x` are not fields.
pub(super) fn field(text: &str, fields: Fields<'_>) -> Option<(&'static str, usize)> {
    let colon = text.find(|char: char| char.is_whitespace() || ":\"()".contains(char))?;
    let value = text[colon..].strip_prefix(':')?;
    let has_no_value = value.is_empty() || value.starts_with(char::is_whitespace);
    if has_no_value || value.starts_with(':') || value.starts_with("//") {
        return None;
    }
    fields(&text[..colon]).map(|name| (name, colon))
}

/// Returns whether all brackets are balanced, so that the word can be printed inside a group.
pub(super) fn balanced(word: &str) -> bool {
    let mut open = 0_usize;
    for char in word.chars() {
        match char {
            '(' => open += 1,
            ')' if open == 0 => return false,
            ')' => open -= 1,
            _ => {}
        }
    }
    open == 0
}

/// Returns the content of the quotes at the start of the text, and its length in bytes with quotes; `None` if unclosed.
fn quoted(text: &str) -> Option<(String, usize)> {
    let mut content = String::new();
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, char)) = chars.next() {
        match char {
            '"' => return Some((content, at + 1)),
            '\\' => {
                let escaped = chars.next_if(|(_, next)| matches!(next, '"' | '\\'));
                content.push(escaped.map_or('\\', |(_, char)| char));
            }
            char => content.push(char),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<Token> {
        let fields = |name: &str| (name == "path").then_some("path");
        Lexer::new(text, &fields).map(|lexeme| lexeme.token).collect()
    }

    fn word(word: &str) -> Token {
        Token::Word(word.to_owned())
    }

    #[test]
    fn a_bracket_inside_a_word_belongs_to_code() {
        assert_eq!(
            tokens("(see f(a, b) or g())"),
            [Token::Open, word("see"), word("f(a,"), word("b)"), word("or"), word("g()"), Token::Close]
        );
        assert_eq!(tokens("1) a :)"), [word("1)"), word("a"), word(":)")]);
    }

    #[test]
    fn a_regular_expression_ends_at_its_slash() {
        let content = |text: &str| -> Vec<Token> {
            let fields = |name: &str| (name == "content").then_some("content");
            Lexer::new(text, &fields).map(|lexeme| lexeme.token).collect()
        };
        let field = |value: &str| Token::Field { name: "content", value: value.to_owned() };
        assert_eq!(content("content:/fn (a|b) \\/x/i y"), [field("/fn (a|b) \\/x/i"), word("y")]);
        assert_eq!(content("(content:/a b/ c)"), [Token::Open, field("/a b/"), word("c"), Token::Close]);
        assert_eq!(content("(x content:/a b/)"), [Token::Open, word("x"), field("/a b/"), Token::Close]);
        assert_eq!(content("content:/usr/local y"), [field("/usr/local"), word("y")]);
        assert_eq!(content("content:\"a  b\""), [field("a  b")]);
    }

    #[test]
    fn quotes_have_two_escapes() {
        assert_eq!(tokens(r#""a \" \\ \d""#), [Token::Phrase(r#"a " \ \d"#.to_owned())]);
        assert_eq!(tokens(r#"path:"a\"b""#), [Token::Field { name: "path", value: "a\"b".to_owned() }]);
        assert_eq!(tokens(r#""a\""#), [Token::Unclosed, word(r#"a\""#)]);
    }

    #[test]
    fn a_minus_directly_after_a_bracket_or_quote_is_not_a_negation() {
        assert_eq!(tokens("(a)-b"), [Token::Open, word("a"), Token::Close, word("b")]);
        assert_eq!(tokens("\"a\"->b"), [Token::Phrase("a".to_owned()), word("->b")]);
        assert_eq!(tokens("(a) -b").len(), 5);
    }

    #[test]
    fn spans_cover_the_tokens() {
        let text = "ä \"b\" -c";
        let spans: Vec<_> = Lexer::new(text, &|_| None).map(|lexeme| &text[lexeme.span]).collect();
        assert_eq!(spans, ["ä", "\"b\"", "-", "c"]);
    }

    #[test]
    fn brackets_balance_in_order() {
        assert!(balanced("f(a)(b)"));
        assert!(!balanced(")(") && !balanced("f(") && !balanced("f)"));
    }
}
