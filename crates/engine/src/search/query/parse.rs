//! Parses the tokens of a query: one function for each rule of the grammar in `mod.rs`.

use super::ast::{FilterClause, SearchQuery};
use super::lex::{Fields, Lexeme, Lexer, Token, balanced};
use super::like_field::LikeField;
use super::plain::plain_words;

/// Maximum number of words in a typed query. A longer text counts as pasted (an issue, a log) and contains no syntax.
///
/// Each clause has at least one word, so this also bounds the number of clauses and their depth.
pub(super) const TYPED_WORDS_MAX: usize = 32;

/// Maximum nesting depth of groups. It bounds the recursion of the parser.
const DEPTH_MAX: usize = 32;

// A printed query nests fewer groups than it has words, so this guarantees that it can be parsed again.
const _: () = assert!(TYPED_WORDS_MAX <= DEPTH_MAX);

/// A parsed query with remarks on its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedQuery {
    /// The query.
    pub query: SearchQuery,
    /// `true` if the text counts as pasted, so that nothing in it is syntax.
    pub is_pasted: bool,
    /// The reason why the text is malformed and counts as plain words, as one sentence.
    pub malformed: Option<String>,
    /// Words that look like a filter and were parsed as words.
    pub like_fields: Vec<LikeField>,
}

impl ParsedQuery {
    /// Returns whether filters in the text are filters, and not words.
    #[must_use]
    pub fn has_syntax(&self) -> bool {
        !self.is_pasted && self.malformed.is_none()
    }
}

impl SearchQuery {
    /// Parses a query. Never fails: malformed or pasted text becomes plain words.
    ///
    /// `fields` maps a field name to its canonical form; it must map canonical names to themselves.
    #[must_use]
    pub fn parse(text: &str, fields: &dyn Fn(&str) -> Option<&'static str>) -> ParsedQuery {
        let Some(lexemes) = typed_lexemes(text, fields) else {
            let text = fold_spaces(text);
            let query = SearchQuery { text, ..SearchQuery::default() };
            return ParsedQuery { query, is_pasted: true, malformed: None, like_fields: Vec::new() };
        };
        match Parser::new(text, &lexemes).query() {
            Ok(query) => {
                ParsedQuery { query, is_pasted: false, malformed: None, like_fields: like_fields(&lexemes) }
            }
            Err(malformed) => {
                let text = plain_words(text, fields);
                let query = SearchQuery { text, ..SearchQuery::default() };
                ParsedQuery { query, is_pasted: false, malformed: Some(malformed), like_fields: Vec::new() }
            }
        }
    }
}

fn like_fields(lexemes: &[Lexeme]) -> Vec<LikeField> {
    let word = |lexeme: &Lexeme| match &lexeme.token {
        Token::Word(word) => LikeField::from_word(word),
        _ => None,
    };
    lexemes.iter().filter_map(word).collect()
}

/// Folds spaces and removes empty lines of a pasted text; keeps line breaks, because the first line is the subject.
fn fold_spaces(text: &str) -> String {
    let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Returns the tokens of a typed text; `None` if the text is pasted.
fn typed_lexemes(text: &str, fields: Fields<'_>) -> Option<Vec<Lexeme>> {
    let mut lexemes = Vec::new();
    let mut words = 0;
    for lexeme in Lexer::new(text, fields) {
        words += lexeme.token.words();
        if words > TYPED_WORDS_MAX {
            return None;
        }
        lexemes.push(lexeme);
    }
    Some(lexemes)
}

/// A parsed part of the query.
enum Part {
    /// Words without an operator: as a clause of the query they rank, as an operand they filter.
    Plain(Vec<String>),
    /// A filter; `None` if all its operands are empty, as in `NOT ()`. An empty group or phrase itself is `Plain` without words.
    Filter(Option<FilterClause>),
}

impl Part {
    fn plain(&self) -> Option<&[String]> {
        match self {
            Part::Plain(words) => Some(words),
            Part::Filter(_) => None,
        }
    }

    fn into_filter(self) -> Option<FilterClause> {
        match self {
            Part::Filter(clause) => clause,
            Part::Plain(words) => FilterClause::all(words.into_iter().map(word_filter).collect()),
        }
    }
}

/// Converts a word to a filter. A word with unbalanced brackets becomes a phrase, which can be printed inside a group.
fn word_filter(word: String) -> FilterClause {
    if balanced(&word) { FilterClause::Word(word) } else { FilterClause::Phrase(word) }
}

/// The reason why the text is malformed, as a sentence for people.
type Malformed = String;

struct Parser<'a> {
    text: &'a str,
    lexemes: &'a [Lexeme],
    /// Index of the next token.
    next: usize,
    /// Number of groups around the next token.
    depth: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, lexemes: &'a [Lexeme]) -> Self {
        Self { text, lexemes, next: 0, depth: 0 }
    }

    fn query(mut self) -> Result<SearchQuery, Malformed> {
        let mut words = Vec::new();
        let mut clauses = Vec::new();
        let mut similar_to = None;
        while let Some(token) = self.peek() {
            match *token {
                Token::Similar(chunk)
                    if !matches!(self.token(self.next + 1), Some(Token::And | Token::Or)) =>
                {
                    if similar_to.replace(chunk).is_some() {
                        return Err(format!(
                            "{} is a second chunk; name only one.",
                            self.describe(self.next)
                        ));
                    }
                    self.next += 1;
                }
                _ => match self.clause()? {
                    Part::Plain(plain) => words.extend(plain),
                    Part::Filter(clause) => clauses.extend(clause),
                },
            }
        }
        Ok(SearchQuery { text: words.join(" "), filter: FilterClause::all(clauses), similar_to })
    }

    /// `clause := and ("OR" and)*`
    fn clause(&mut self) -> Result<Part, Malformed> {
        self.operands(&Token::Or, FilterClause::any, Self::and)
    }

    /// `and := unary ("AND" unary)*`
    fn and(&mut self) -> Result<Part, Malformed> {
        self.operands(&Token::And, FilterClause::all, Self::unary)
    }

    fn operands(
        &mut self,
        operator: &Token,
        join: fn(Vec<FilterClause>) -> Option<FilterClause>,
        operand: fn(&mut Self) -> Result<Part, Malformed>,
    ) -> Result<Part, Malformed> {
        let first = operand(self)?;
        if self.peek() != Some(operator) {
            return Ok(first);
        }
        let mut clauses: Vec<FilterClause> = first.into_filter().into_iter().collect();
        while self.peek() == Some(operator) {
            self.next += 1;
            clauses.extend(operand(self)?.into_filter());
        }
        Ok(Part::Filter(join(clauses)))
    }

    /// `unary := "NOT" unary | primary`
    fn unary(&mut self) -> Result<Part, Malformed> {
        let first = self.next;
        while self.peek() == Some(&Token::Not) {
            self.next += 1;
        }
        let negations = self.next - first;
        let operand = self.primary()?;
        Ok(match negations {
            0 => operand,
            even if even % 2 == 0 => Part::Filter(operand.into_filter()),
            _ => Part::Filter(operand.into_filter().map(FilterClause::negated)),
        })
    }

    /// `primary := "(" sequence ")" | phrase | field | word`
    fn primary(&mut self) -> Result<Part, Malformed> {
        let at = self.next;
        let part = match self.peek() {
            Some(Token::Open) => return self.group(),
            Some(Token::Word(word)) => Part::Plain(vec![word.clone()]),
            Some(Token::Phrase(words)) if words.is_empty() => Part::Plain(Vec::new()),
            Some(Token::Phrase(words)) => Part::Filter(Some(FilterClause::Phrase(words.clone()))),
            Some(Token::Field { name, value }) => {
                Part::Filter(Some(FilterClause::Field { name, value: value.clone() }))
            }
            Some(Token::Similar(_)) => {
                return Err(format!(
                    "{} is only allowed outside of groups and operators.",
                    self.describe(at)
                ));
            }
            Some(Token::Unclosed) => {
                return Err(format!("{} opens a quote that is never closed.", self.describe(at)));
            }
            Some(Token::Close | Token::And | Token::Or | Token::Not) | None => return Err(self.no_operand()),
        };
        self.next += 1;
        Ok(part)
    }

    fn group(&mut self) -> Result<Part, Malformed> {
        let open = self.next;
        if self.depth == DEPTH_MAX {
            return Err(format!("More than {DEPTH_MAX} groups are nested."));
        }
        self.next += 1;
        self.depth += 1;
        let mut clauses = Vec::new();
        while self.peek().is_some_and(|token| *token != Token::Close) {
            clauses.push(self.clause()?);
        }
        if self.peek().is_none() {
            return Err(format!("{} opens a group that is never closed.", self.describe(open)));
        }
        self.next += 1;
        self.depth -= 1;
        Ok(group_of(clauses))
    }

    /// Returns the error for a missing operand. It names the operator before this position, or else the token here.
    fn no_operand(&self) -> Malformed {
        let operator = |at: usize| matches!(self.token(at), Some(Token::And | Token::Or | Token::Not));
        match self.next.checked_sub(1) {
            Some(before) if operator(before) => {
                format!("{} has no word after it.", self.describe(before))
            }
            _ => format!("{} has no word before it.", self.describe(self.next)),
        }
    }

    /// Describes a token with its position, for messages.
    fn describe(&self, at: usize) -> String {
        let Some(lexeme) = self.lexemes.get(at) else { return "The end".to_owned() };
        let character = self.text[..lexeme.span.start].chars().count() + 1;
        format!("`{}` at character {character}", &self.text[lexeme.span.clone()])
    }

    fn peek(&self) -> Option<&'a Token> {
        self.token(self.next)
    }

    fn token(&self, at: usize) -> Option<&'a Token> {
        self.lexemes.get(at).map(|lexeme| &lexeme.token)
    }
}

/// Combines clauses to a group, which ranks if they are all plain words; one clause that filters makes all of them filter.
fn group_of(clauses: Vec<Part>) -> Part {
    let plain: Option<Vec<&[String]>> = clauses.iter().map(Part::plain).collect();
    match plain {
        Some(words) => Part::Plain(words.concat()),
        None => Part::Filter(FilterClause::all(clauses.into_iter().filter_map(Part::into_filter).collect())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn fields(name: &str) -> Option<&'static str> {
        ["lang", "type", "path"].into_iter().find(|field| field.eq_ignore_ascii_case(name))
    }

    fn read(text: &str) -> ParsedQuery {
        SearchQuery::parse(text, &fields)
    }

    /// Prints the parts of a query that it has, as `plain words | filter | chunk`.
    fn sketch(query: &SearchQuery) -> String {
        let chunk = query.similar_to.map(|chunk| format!("#{chunk}"));
        let parts = [Some(query.text.clone()), query.filter.as_ref().map(sketch_filter), chunk];
        parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" | ")
    }

    fn sketch_filter(clause: &FilterClause) -> String {
        let list =
            |members: &[FilterClause]| members.iter().map(sketch_filter).collect::<Vec<_>>().join(", ");
        match clause {
            FilterClause::All(members) => format!("all[{}]", list(members)),
            FilterClause::Any(members) => format!("any[{}]", list(members)),
            FilterClause::Not(clause) => format!("not {}", sketch_filter(clause)),
            FilterClause::Word(word) => format!("={word}"),
            FilterClause::Phrase(words) => format!("'{words}'"),
            FilterClause::Field { name, value } => format!("{name}<{value}>"),
        }
    }

    fn check(table: &[(&str, &str)]) {
        for (text, expected) in table {
            let parsed = read(text);
            assert_eq!(sketch(&parsed.query), *expected, "{text}");
            assert_eq!(parsed.malformed, None, "{text}");
        }
    }

    #[test]
    fn plain_words_rank() {
        check(&[
            ("", ""),
            ("how  are routes\nregistered", "how are routes registered"),
            ("how does x work (in tests)", "how does x work in tests"),
            ("((a) b) () c", "a b c"),
            ("and or not", "and or not"),
        ]);
        for code in [
            "foo(bar)",
            "render(a, b)",
            "x=\"y z\"",
            "std::fs::read",
            "http://x path://x",
            "path::Path",
            "a-b",
            "run --flag",
            "a - b",
            "a ! b",
            "a != b !== c",
            "user->name ->",
            "lang:",
            "key:value",
            "chunk:x chunk:-1 chunk:99999999999999999999",
            "fn() -> Option<&'static str>",
            "1) first :)",
        ] {
            check(&[(code, code)]);
        }
    }

    #[test]
    fn phrases_negations_and_fields_filter() {
        check(&[
            ("cache \"fn  get(\" -test", "cache | all['fn get(', not =test]"),
            ("a -\"b  c\" d", "a d | not 'b c'"),
            ("!important", "not =important"),
            ("\"\" x lang:\"\"", "x lang:"),
            (r#""say \"x\"""#, r#"'say "x"'"#),
            ("lang:rust -path:\"a (b\"", "all[lang<rust>, not path<a (b>]"),
            ("LANG:rust Path:f(x)", "all[lang<rust>, path<f(x)>]"),
            ("what is \"foo bar\"?", "what is ? | 'foo bar'"),
        ]);
    }

    #[test]
    fn operator_precedence_is_not_and_or() {
        check(&[
            ("x a OR b", "x | any[=a, =b]"),
            ("a AND b OR NOT c", "any[all[=a, =b], not =c]"),
            ("a AND (b OR c)", "all[=a, any[=b, =c]]"),
            ("a OR (b c)", "any[=a, all[=b, =c]]"),
            ("a OR b c OR d", "all[any[=a, =b], any[=c, =d]]"),
            ("(a \"b\")", "all[=a, 'b']"),
            ("-(a b)", "not all[=a, =b]"),
            ("NOT a b", "b | not =a"),
            ("(see f(a, b) OR c)", "all[=see, 'f(a,', any['b)', =c]]"),
        ]);
    }

    #[test]
    fn equivalent_queries_have_one_form() {
        check(&[
            ("(a AND b) AND (c AND d)", "all[=a, =b, =c, =d]"),
            ("a OR (b OR (c))", "any[=a, =b, =c]"),
            ("NOT NOT NOT a", "not =a"),
            ("NOT -(-a)", "not =a"),
            ("a OR () -()", "=a"),
            ("NOT () AND \"\"", ""),
        ]);
    }

    #[test]
    fn a_chunk_is_separate_from_words_and_filters() {
        check(&[("chunk:0012", "#12"), ("parse chunk:5 lang:go", "parse | lang<go> | #5")]);
    }

    #[test]
    fn malformed_text_ranks_and_has_a_reason() {
        for (text, plain, why) in [
            ("AND x", "and x", "`AND` at character 1 has no word before it."),
            ("ä OR", "ä or", "`OR` at character 3 has no word after it."),
            ("a AND OR b", "a and or b", "`AND` at character 3 has no word after it."),
            ("(OR a)", "or a", "`OR` at character 2 has no word before it."),
            ("(a OR)", "a or", "`OR` at character 4 has no word after it."),
            ("NOT", "not", "`NOT` at character 1 has no word after it."),
            ("-AND", "and", "`-` at character 1 has no word after it."),
            ("x (a OR b", "x a or b", "`(` at character 3 opens a group that is never closed."),
            ("say \"hello", "say hello", "`\"` at character 5 opens a quote that is never closed."),
            ("-\"a", "a", "`\"` at character 2 opens a quote that is never closed."),
            ("path:\"a b", "path a b", "`path:\"` at character 1 opens a quote that is never closed."),
            (
                "chunk:1 chunk:2",
                "chunk 1 chunk 2",
                "`chunk:2` at character 9 is a second chunk; name only one.",
            ),
            (
                "-chunk:1",
                "chunk 1",
                "`chunk:1` at character 2 is only allowed outside of groups and operators.",
            ),
            (
                "chunk:1 OR a",
                "chunk 1 or a",
                "`chunk:1` at character 1 is only allowed outside of groups and operators.",
            ),
            (
                "(chunk:1)",
                "chunk 1",
                "`chunk:1` at character 2 is only allowed outside of groups and operators.",
            ),
        ] {
            let parsed = read(text);
            assert_eq!(sketch(&parsed.query), plain, "{text}");
            assert_eq!(parsed.malformed.as_deref(), Some(why), "{text}");
        }
    }

    #[test]
    fn words_that_look_like_fields_are_returned() {
        let like_fields = |text: &str| -> Vec<(String, String)> {
            read(text).like_fields.into_iter().map(|like| (like.name, like.value)).collect()
        };
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            like_fields("typ:function -Kind:class (repo:gin)"),
            [pair("typ", "function"), pair("Kind", "class"), pair("repo", "gin")]
        );
        assert_eq!(like_fields("lang: x:\"a b\""), [pair("lang", ""), pair("x", "\"a")]);
        for text in ["std::vec", "http://x", "12:30", "C:\\x", "lang:go", "\"a:b\"", "chunk:1", ":x", "a.b:c"]
        {
            assert_eq!(like_fields(text), [], "{text}");
        }
    }

    #[test]
    fn a_pasted_text_has_no_filters() {
        let pasted = format!("{}\"quoted -v AND", "word ".repeat(40));
        check(&[(&pasted, &pasted)]);
        let typed = vec!["a"; TYPED_WORDS_MAX].join(" OR ");
        assert!(read(&typed).query.filter.is_some(), "operators do not count as words");
        assert_eq!(read(&format!("{typed} b")).query.filter, None);
        assert_eq!(read(&format!("lang:c {}", "\"a\"".repeat(TYPED_WORDS_MAX))).query.filter, None);
    }

    #[test]
    fn groups_are_bounded() {
        let groups = |depth: usize| format!("{}a{}", "-(".repeat(depth), ")".repeat(depth));
        assert_eq!(read(&groups(DEPTH_MAX)).malformed, None);
        for depth in [DEPTH_MAX + 1, 100_000] {
            let why = "More than 32 groups are nested.";
            assert_eq!(read(&groups(depth)).malformed.as_deref(), Some(why));
        }
        let negations = "NOT ".repeat(100_001);
        check(&[(&format!("{negations}a"), "not =a")]);
    }

    proptest! {
        #[test]
        fn any_text_can_be_read(text in "\\PC{0,200}") {
            read(&text);
        }

        #[test]
        fn lower_case_words_are_unchanged(words in vec("[a-z]{1,8}", 0..40)) {
            let plain = words.join(" ");
            prop_assert_eq!(sketch(&read(&plain).query), plain);
        }
    }
}
