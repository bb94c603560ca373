//! The identifier at a place of a line.

use super::marks::Marks;

/// The signs in names of operators.
const SIGNS: &str = "!#$%&*+./<=>?@\\^|-~:";

/// An identifier in a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentifierAt {
    /// The name, as the index has it.
    pub name: String,
    /// Its width in characters, as it is written.
    pub width: usize,
}

/// The identifier of a language that begins at, or contains, a column of a line (in characters, 1-based).
#[must_use]
pub fn identifier_at(line: &str, column: u32, language: Option<&str>) -> Option<IdentifierAt> {
    let marks = Marks::of(language.unwrap_or_default());
    let at = usize::try_from(column.saturating_sub(1)).ok()?;
    let chars: Vec<char> = line.chars().collect();
    let is_name = |at: usize| chars.get(at).is_some_and(|c| is_in_name(*c, marks));
    let first = *chars.get(at)?;
    let (start, end) = if let Some(close) = marks.closing(first) {
        (at, end_of_quoted(&chars, at + 1, close)?)
    } else if first == '@' && chars.get(at + 1) == Some(&'"') {
        (at, end_of_quoted(&chars, at + 2, '"')?)
    } else {
        let is_before = matches!(first, '@' | '#') && is_name(at + 1);
        if !is_before && !is_name(at) {
            return operator_at(&chars, at, marks);
        }
        let begin = if is_before { at + 1 } else { at };
        let begin = (0..begin).rev().take_while(|at| is_name(*at)).last().unwrap_or(begin);
        (begin - usize::from(has_mark_before(&chars, begin, marks)), end_of_name(&chars, begin, marks))
    };
    let written: String = chars[start..end].iter().collect();
    let name = marks.stored(&written);
    (!name.is_empty()).then_some(IdentifierAt { name, width: end - start })
}

/// The operator around a place, in a language whose uses of operators are reported.
fn operator_at(chars: &[char], at: usize, marks: &Marks) -> Option<IdentifierAt> {
    let is_sign = |at: &usize| chars.get(*at).is_some_and(|c| SIGNS.contains(*c));
    let end = (at..chars.len()).take_while(is_sign).last()? + 1;
    let start = (0..at).rev().take_while(is_sign).last().unwrap_or(at);
    // `Data.Map.!`: the dot after the name of a module is not part of it.
    let is_behind_name = start > 0 && chars[start - 1].is_alphanumeric();
    let start = start + usize::from(is_behind_name && chars[start] == '.' && start + 1 < end);
    let name: String = chars[start..end].iter().collect();
    marks.reports_operator(&name).then_some(IdentifierAt { name, width: end - start })
}

/// Checks whether a mark that belongs to the written name precedes it: the `@` of C#, or the `#` of a private member.
fn has_mark_before(chars: &[char], begin: usize, marks: &Marks) -> bool {
    match begin.checked_sub(1).map(|before| chars[before]) {
        Some('@') => marks.escapes_with("@"),
        Some('#') => marks.is_inside('$'),
        _ => false,
    }
}

/// One past the last character of a name, with the mark at its end.
fn end_of_name(chars: &[char], begin: usize, marks: &Marks) -> usize {
    let run = |from: usize| from + chars[from..].iter().take_while(|c| is_in_name(**c, marks)).count();
    let mut end = run(begin);
    // `r#match`.
    if marks.escapes_with("r#") && chars[begin..end] == ['r'] && chars.get(end) == Some(&'#') {
        end = run(end + 1);
    }
    let next = |at: usize| chars.get(at).copied();
    let is_mark = next(end).is_some_and(|c| matches!(c, '!' | '?') && marks.is_last(c));
    // `a != b`.
    end + usize::from(is_mark && next(end + 1) != Some('='))
}

fn end_of_quoted(chars: &[char], from: usize, close: char) -> Option<usize> {
    chars.get(from..)?.iter().position(|c| *c == close).map(|length| from + length + 1)
}

fn is_in_name(c: char, marks: &Marks) -> bool {
    c.is_alphanumeric()
        || matches!(c, '_' | '$')
        || marks.is_inside(c)
        || (!c.is_ascii() && !c.is_whitespace() && !c.is_control())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_identifier_at_a_column_is_found() {
        let at = |line: &str, column: u32, language: &str| {
            identifier_at(line, column, Some(language)).map(|found| (found.name, found.width))
        };
        let some = |name: &str, width: usize| Some((name.to_owned(), width));
        let text = "till.open(gr\u{f6}\u{df}e)";
        assert_eq!(at(text, 1, "python"), some("till", 4));
        assert_eq!(at(text, 3, "python"), some("till", 4));
        assert_eq!(at(text, 5, "python"), None);
        assert_eq!(at(text, 11, "python"), some("gr\u{f6}\u{df}e", 5));
        assert_eq!(at("gro\u{308}\u{df}e", 3, "python"), some("gr\u{f6}\u{df}e", 6));
        assert_eq!(at(text, 0, "python"), some("till", 4));
        assert_eq!(at(text, u32::MAX, "python"), None);
        assert_eq!(at("", 1, "python"), None);
        assert_eq!(at("Repo.get!(x)", 6, "elixir"), some("get!", 4));
        assert_eq!(at("a != b", 1, "ruby"), some("a", 1));
        assert_eq!(at("foldl' f x", 1, "haskell"), some("foldl'", 6));
        assert_eq!(at("run(@class)", 5, "csharp"), some("class", 6));
        assert_eq!(at("run(@class)", 6, "csharp"), some("class", 6));
        assert_eq!(at("r#match()", 1, "rust"), some("match", 7));
        assert_eq!(at("println!()", 1, "rust"), some("println", 7));
        assert_eq!(at("this.#load()", 6, "javascript"), some("#load", 5));
        assert_eq!(at("this.#load()", 8, "javascript"), some("#load", 5));
        assert_eq!(at("s.`adds two numbers`()", 3, "kotlin"), some("adds two numbers", 18));
        assert_eq!(at("x = @\"a name\";", 5, "zig"), some("a name", 9));
        assert_eq!(at("a <+> b", 3, "haskell"), some("<+>", 3));
        assert_eq!(at("foldr (M.><) a", 10, "haskell"), some("><", 2));
        assert_eq!(at("a == b", 3, "haskell"), None, "one of the prelude");
        assert_eq!(at("a <+> b", 3, "ruby"), None);
    }
}
