//! Converts values of filters to the spellings in which facts are stored. Users copy values from code, with sigils, quotes,
//! arguments and keywords (`@property`, `self.save()`, `name: str`); facts are stored without these.

use super::field::Field;
use super::{values, visibility};
use crate::identifier::{Marks, nfc};

/// Keywords that may precede a name in a value, and are not stored.
const LEADING_WORDS: &[&str] = &[
    "throw ", "throws ", "raise ", "return ", "yield ", "await ", "co_await ", "try ", "new ", "delete ",
    "implements ", "extends ",
];
/// Keywords that may precede the path of an import.
const IMPORT_WORDS: &[&str] = &[
    "import ", "from ", "use ", "using ", "require ", "require_once ", "include ", "#include ", "mod ",
    "extern crate ", "@import ", "static ", "type ",
];
/// File extensions that an import in JavaScript or TypeScript may omit.
const SCRIPT_ENDINGS: &[&str] = &[".js", ".ts", ".tsx", ".jsx", ".mjs", ".cjs"];

/// Values under which some languages store a written value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpellingGroup {
    /// The values: the written one first, then other spellings.
    pub spellings: Vec<String>,
    /// The languages; empty: all but [`except`](Self::except).
    pub only: Vec<&'static str>,
    /// Languages that store it otherwise.
    pub except: Vec<&'static str>,
}

/// The values under which a field may store `written`, by language where languages disagree on which marks belong to a name.
#[must_use]
pub fn spelling_groups(field: Field, written: &str) -> Vec<SpellingGroup> {
    let mut groups: Vec<SpellingGroup> = Vec::new();
    for marks in Marks::all() {
        let spellings = spellings_in(field, written, marks);
        let languages = marks.languages();
        match groups.iter_mut().find(|group| group.spellings == spellings) {
            Some(group) => group.only.extend(languages),
            None => groups.push(SpellingGroup { spellings, only: languages.to_vec(), except: Vec::new() }),
        }
        // The last row is that of all other languages.
        if languages.is_empty()
            && let Some(at) =
                groups.iter().position(|group| group.spellings == spellings_in(field, written, marks))
        {
            let except = groups.iter().enumerate().filter(|(other, _)| *other != at);
            let except = except.flat_map(|(_, group)| group.only.iter().copied()).collect();
            (groups[at].only, groups[at].except) = (Vec::new(), except);
        }
    }
    groups
}

/// The values under which a field may store `written` in one language or another, without duplicates: `written` itself first, then
/// other spellings.
#[must_use]
pub fn spellings(field: Field, written: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for spelling in Marks::all().flat_map(|marks| spellings_in(field, written, marks)) {
        if !found.contains(&spelling) {
            found.push(spelling);
        }
    }
    found
}

/// The same, in the languages with these marks.
fn spellings_in(field: Field, written: &str, marks: &Marks) -> Vec<String> {
    let normal = nfc(written.trim());
    let written = normal.as_ref();
    let mut found = vec![written.to_owned()];
    match field {
        Field::Param => found.extend(param(written, marks)),
        Field::Type | Field::Inferred | Field::ReturnType => {
            found.extend(values::declared_type(written.trim_end_matches(['{', ';'])));
        }
        Field::Decorator => found.extend(values::decorator(written)),
        Field::Import => found.extend(imports(written)),
        Field::Alias => found.extend(alias(written, marks)),
        Field::Caller => {
            let name = unmarked(written).split('(').next().unwrap_or_default().trim().to_owned();
            found.extend([
                name.replace("::", ".").replace(['#', '/'], "."),
                name.replace(['.', '#'], "::"),
                marks.stored(&name),
                name,
            ]);
        }
        Field::Visibility => found.extend(visibility::stored_value(written)),
        Field::RiskSource | Field::RiskSink | Field::RiskFlow => found.extend(flow(written)),
        Field::Write | Field::Mutate => {
            // `a.b = c` and `a.b += c` are stored as their left side.
            let target = written.split_once('=').map_or(written, |(target, _)| target);
            let target = target.trim_end_matches(|c: char| "+-*/%|&^<>?:".contains(c) || c.is_whitespace());
            found.extend(chain(target, marks));
        }
        Field::Call
        | Field::Use
        | Field::Read
        | Field::Member
        | Field::Throw
        | Field::Await
        | Field::Yield
        | Field::Extends
        | Field::Implements => found.extend(chain(written, marks)),
        _ => {}
    }
    found.retain(|spelling| !spelling.is_empty());
    let mut known = std::collections::HashSet::new();
    found.retain(|spelling| known.insert(spelling.clone()));
    found
}

/// The stored value of a visibility, given in any language's words; `None` if `written` is not a complete word.
#[must_use]
pub fn whole_visibility(written: &str) -> Option<String> {
    visibility::stored_value(written.trim())
}

/// The stored value of a decorator that is written with its language's marks: `@property`, `#[test]`, `[[nodiscard]]`. `None`
/// without marks, because it may then be only a part of the name.
#[must_use]
pub fn marked_decorator(written: &str) -> Option<String> {
    let written = written.trim();
    let marked = written.starts_with(['@', '[']) || written.starts_with("#[") || written.starts_with("#![");
    if marked { values::decorator(written) } else { None }
}

/// The name and the arguments of a decorator, in lower case. The stored value of a decorator with further arguments, in another
/// order or with other quotes, contains all of them. Empty if it has no arguments.
#[must_use]
pub fn decorator_pieces(written: &str) -> Vec<String> {
    let Some(bare) = values::decorator(written) else { return Vec::new() };
    let Some((name, arguments)) = bare.split_once('(') else { return Vec::new() };
    let arguments =
        arguments.trim_end_matches(')').split(',').map(|one| one.trim().trim_matches(['"', '\'', '`']));
    let arguments = arguments.filter(|one| !one.is_empty()).map(str::to_lowercase);
    std::iter::once(format!("{}(", name.trim().to_lowercase())).chain(arguments).collect()
}

/// Removes leading keywords and the semicolon at the end.
fn unmarked(written: &str) -> &str {
    let mut bare = written.trim().trim_end_matches(';').trim_end();
    while let Some(rest) = LEADING_WORDS.iter().find_map(|word| bare.strip_prefix(word)) {
        bare = rest.trim_start();
    }
    bare
}

/// A chain of names as facts store it; `None` if it has several words.
fn chain(written: &str, marks: &Marks) -> Option<String> {
    let bare = unmarked(written).trim_end_matches('(');
    // A name between backticks may have any character.
    if bare.chars().next().is_some_and(|c| marks.closing(c).is_some()) {
        return values::chain(bare, marks);
    }
    let head = bare.split(['(', '[', '<', '{']).next().unwrap_or_default().trim();
    if head.contains(char::is_whitespace) {
        return None;
    }
    // Documentation of Ruby and Java writes methods after a hash sign.
    let dotted = match head.split_once('#') {
        Some((owner, _)) if !owner.is_empty() => bare.replacen('#', ".", 1),
        _ => bare.to_owned(),
    };
    values::chain(&dotted, marks)
}

/// Names of a parameter: `name: str = "x"`, `String name`, `name string`, `&mut name`, `...names`. Of two words, it may be
/// either.
fn param(written: &str, marks: &Marks) -> Vec<String> {
    let head = written.split(['=', ',']).next().unwrap_or_default();
    let head =
        head.find(':').filter(|at| !head[*at..].starts_with("::") && *at > 0).map_or(head, |at| &head[..at]);
    let words: Vec<&str> =
        head.split_whitespace().filter(|word| !matches!(*word, "mut" | "&mut" | "ref")).collect();
    let bare = |word: &&str| {
        let word = word
            .trim_start_matches(|c: char| {
                matches!(c, '&' | '*' | '.' | '$' | '@' | '%') && !marks.is_inside(c)
            })
            .trim_end_matches(['?', '!', ')', ']', '[']);
        values::name(word.rsplit('(').next().unwrap_or(word), marks)
    };
    words.first().into_iter().chain(words.last()).filter_map(bare).collect()
}

/// An alias, written as `a = b.c` or `const a = b::c;`.
fn alias(written: &str, marks: &Marks) -> Option<String> {
    let Some((name, value)) = written.split_once('=') else { return chain(written, marks) };
    let name = name
        .split_whitespace()
        .last()
        .unwrap_or_default()
        .trim_start_matches(|c| c == '$' && !marks.is_inside(c));
    let value = value.trim();
    Some(format!("{name}={}", if value.is_empty() { String::new() } else { chain(value, marks)? }))
}

/// A flow, written as `req.body -> exec()`.
fn flow(written: &str) -> Option<String> {
    let arrows = written.replace('→', "->").replace("=>", "->");
    let ends = arrows.split("->").map(|end| end.trim().trim_end_matches("()").trim_end_matches('('));
    Some(ends.collect::<Vec<_>>().join("->"))
}

/// Spellings of an imported path: with the separators of other languages, and with and without `./` and a file extension.
fn imports(written: &str) -> Vec<String> {
    let mut path = written.trim().trim_end_matches(';').trim_end();
    if let Some((_, module)) = path.split_once(" from ") {
        path = module.trim();
    }
    while let Some(rest) = IMPORT_WORDS.iter().find_map(|word| path.strip_prefix(word)) {
        path = rest.trim_start();
    }
    path = [" import ", " as ", " hiding "]
        .iter()
        .fold(path, |path, word| path.split(word).next().unwrap_or(path));
    let path = path.strip_prefix("require(").unwrap_or(path);
    let path = path.trim_matches(['"', '\'', '`', '<', '>', '(', ')', ' ', ';']);
    let path = ["::*", ".*", "\\*"].iter().find_map(|all| path.strip_suffix(all)).unwrap_or(path);
    if path.is_empty() {
        return Vec::new();
    }
    let mut found = vec![path.to_owned(), path.replace("::", "."), path.replace('\\', "::")];
    if !path.contains('/') && !path.starts_with('.') {
        found.push(path.replace('.', "::"));
        found.push(path.replace("::", "\\").replace('.', "\\"));
        found.push(format!(".{path}"));
    }
    found.push(path.strip_prefix("node:").map_or_else(|| format!("node:{path}"), str::to_owned));
    let ending = SCRIPT_ENDINGS.iter().find_map(|ending| path.strip_suffix(ending));
    let stem = ending.unwrap_or(path);
    for base in [stem.to_owned(), format!("./{stem}"), format!("../{stem}")] {
        // Only a relative path may omit its extension; `lodash.js` is the name of a package.
        if stem.starts_with('.') && base != stem {
            continue;
        }
        found.extend(SCRIPT_ENDINGS.iter().map(|ending| format!("{base}{ending}")));
        found.push(base);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_copied_from_code_have_the_stored_spelling() {
        for (field, written, stored) in [
            (Field::Call, "foo()", "foo"),
            (Field::Call, "self.foo(a, b)", "self.foo"),
            (Field::Call, "await this.api.get<T>(url);", "this.api.get"),
            (Field::Call, "new Foo(", "Foo"),
            (Field::Call, "std::mem::take", "std.mem.take"),
            (Field::Call, "println!", "println"),
            (Field::Call, "$this->db->query()", "this.db.query"),
            (Field::Call, "Context#json", "Context.json"),
            (Field::Call, "super().__init__()", "super.__init__"),
            (Field::Caller, "Store.open()", "Store::open"),
            (Field::Caller, "Basket#checkOut", "Basket.checkOut"),
            (Field::Read, "req.body[\"name\"]", "req.body"),
            (Field::Throw, "raise ValueError(\"x\")", "ValueError"),
            (Field::Throw, "PaymentError::Empty", "PaymentError.Empty"),
            (Field::Mutate, "self.items[0] = x", "self.items"),
            (Field::Write, "total += 1", "total"),
            (Field::Alias, "const a = b::c;", "a=b.c"),
            (Field::Param, "&self", "self"),
            (Field::Param, "mut order: Order", "order"),
            (Field::Param, "String name", "name"),
            (Field::Param, "ctx context.Context", "ctx"),
            (Field::Param, "...args", "args"),
            (Field::Param, "**kwargs", "kwargs"),
            (Field::Param, "size?: number = 3", "size"),
            (Field::ReturnType, "-> Result<A,B>", "Result<A,B>"),
            (Field::ReturnType, ": Promise<string> {", "Promise<string>"),
            (Field::Decorator, "@property", "property"),
            (Field::Decorator, "#[tokio::test]", "tokio::test"),
            (Field::Decorator, "[Fact]", "Fact"),
            (Field::Decorator, "@app.route(\"/\")", "app.route(\"/\")"),
            (Field::Extends, "Container<Ware>", "Container"),
            (Field::Import, "import { a } from './x';", "./x"),
            (Field::Import, "from shop.mail import send", "shop.mail"),
            (Field::Import, "use std::collections::HashMap;", "std::collections::HashMap"),
            (Field::Import, "#include <stdio.h>", "stdio.h"),
            (Field::Import, "./x", "./x.js"),
            (Field::Import, "./x.ts", "./x"),
            (Field::Import, "money", "./money"),
            (Field::Import, "fs", "node:fs"),
            (Field::Import, "std.fmt", "std::fmt"),
            (Field::Visibility, "Public", "public"),
            (Field::RiskFlow, "req.body -> exec()", "req.body->exec"),
            (Field::RiskSink, "exec()", "exec"),
        ] {
            let found = spellings(field, written);
            assert_eq!(found[0], written);
            assert!(found.iter().any(|spelling| spelling == stored), "{field} {written}: {found:?}");
        }
        assert_eq!(spellings(Field::Call, "two words"), ["two words"]);
        assert_eq!(spellings(Field::Call, "plain.name").len(), 1);
        assert_eq!(decorator_pieces("#[derive(Debug, Clone)]"), ["derive(", "debug", "clone"]);
        assert_eq!(decorator_pieces("@app.get('/x')"), ["app.get(", "/x"]);
        assert_eq!(decorator_pieces("@property"), Vec::<String>::new());
    }

    #[test]
    fn languages_that_store_a_name_otherwise_are_apart() {
        assert_eq!(spelling_groups(Field::Call, "api.save()").len(), 1, "all agree");
        let groups = spelling_groups(Field::Call, "save!");
        let of = |language: &str| {
            let found = groups.iter().find(|group| group.only.contains(&language));
            let others =
                || groups.iter().find(|group| group.only.is_empty() && !group.except.contains(&language));
            found.or_else(others).unwrap().spellings.clone()
        };
        assert_eq!((of("ruby"), of("elixir")), (vec!["save!".to_owned()], vec!["save!".to_owned()]));
        assert_eq!((of("rust"), of("go")), (vec!["save!".to_owned(), "save".to_owned()], of("rust")));
        let groups = spelling_groups(Field::Call, "`adds two numbers`");
        let kotlin = groups.iter().find(|group| group.only.contains(&"kotlin")).unwrap();
        assert!(kotlin.spellings.contains(&"adds two numbers".to_owned()), "{groups:?}");
    }

    proptest! {
        #[test]
        fn nothing_panics_and_nothing_is_empty(at in 0..Field::ALL.len(), written in "\\PC{1,40}") {
            prop_assume!(!written.trim().is_empty());
            let found = spellings(Field::ALL[at], &written);
            prop_assert!(found.first().is_some_and(|first| *first == nfc(written.trim())));
            prop_assert!(found.iter().all(|spelling| !spelling.is_empty()));
            let _ = (decorator_pieces(&written), spelling_groups(Field::ALL[at], &written));
        }
    }
}
