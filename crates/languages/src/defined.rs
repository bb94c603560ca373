//! The definitions of a chunk, each with its position, signature and facts.

use serde::{Deserialize, Serialize};

use super::facts::Field;
use super::identifier::fold;
use super::terms::squash;
use super::word::{self, Word};

/// Maximum number of definitions listed for one chunk. A chunk of ordinary size has a few dozen at most; a generated file that is split
/// into `chunks_max` large chunks can have more, and the rest can then be found only by words.
pub(super) const DEFINITIONS_MAX: usize = 4096;

/// A definition. It is listed in the chunk that contains its name, so that each is listed once.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ChunkDefinition {
    /// Simple name. For an anonymous handler, the call that it is passed to: `app.get('/x')`.
    pub name: String,
    /// The name, qualified with those of the enclosing definitions: `Outer.inner`, or with the language's own separator.
    pub qualified: String,
    /// `function`, `method`, `class` … as for chunks.
    #[serde(with = "word")]
    pub kind: Word,
    /// Its text up to the body, on one line, at most 200 characters; `None` for a section.
    pub signature: Option<String>,
    /// Line of the name, 1-based.
    pub line: u32,
    /// Column of the name in characters, 1-based.
    pub column: u32,
    /// First line of the definition with its attributes and decorators, 1-based.
    pub start_line: u32,
    /// Last line, inclusive.
    pub end_line: u32,
    /// `true` if other files can use it; `None` if the language's facts do not show it.
    pub exported: Option<bool>,
    /// Facts of its lines in this chunk, without those of the definitions inside it; sorted.
    pub facts: Vec<(Field, String)>,
}

impl ChunkDefinition {
    /// The folded names by which it can be found; empty for sections, whose headings and keys are not names of code, and for
    /// `impl`s, which only repeat a name defined elsewhere.
    #[must_use]
    pub fn forms(&self) -> Vec<String> {
        if matches!(self.kind, "section" | "impl") {
            Vec::new()
        } else {
            name_forms(&self.name, &self.qualified)
        }
    }
}

/// The enclosing part of a qualified name, without the simple name; `None` at the top level.
#[must_use]
pub fn container<'q>(name: &str, qualified: &'q str) -> Option<&'q str> {
    let outer = qualified.strip_suffix(name)?.trim_end_matches(SEPARATORS);
    (!outer.is_empty()).then_some(outer)
}

/// Characters that separate the parts of a qualified name.
const SEPARATORS: [char; 6] = [':', '.', '#', '\\', '/', ' '];

/// The folded forms of a name, without duplicates: the simple name, the simple name with its container, and the qualified name.
#[must_use]
pub fn name_forms(name: &str, qualified: &str) -> Vec<String> {
    let simple = fold(name);
    let outer = container(name, qualified);
    let mut forms = Vec::with_capacity(3);
    match outer {
        Some(outer) => {
            let innermost = outer.rsplit(SEPARATORS).next().unwrap_or(outer);
            forms.extend([squash(outer) + &simple, squash(innermost) + &simple]);
        }
        None => forms.push(fold(qualified)),
    }
    forms.push(simple);
    forms.sort();
    forms.dedup();
    forms.retain(|form| !form.is_empty());
    forms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_known_by_itself_and_with_what_is_around_it() {
        assert_eq!(name_forms("json", "Hono.Context.json"), ["contextjson", "honocontextjson", "json"]);
        assert_eq!(name_forms("open", "Store::open"), ["open", "storeopen"]);
        assert_eq!(name_forms("cors", "cors"), ["cors"]);
        assert_eq!(name_forms("<=>", "Geo::Vec::<=>"), ["<=>", "geovec<=>", "vec<=>"]);
        assert_eq!(name_forms("operator+", "Vec::operator+"), ["operator+", "vecoperator+"]);
        assert_eq!(container("open", "a::Store::open"), Some("a::Store"));
        assert_eq!(container("app.get('/x')", "app.get('/x')"), None);
    }
}
