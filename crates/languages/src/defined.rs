//! What a chunk defines, each definition with its place, its signature and its own facts.

use serde::{Deserialize, Serialize};

use super::facts::Field;
use super::terms::squash;
use super::word::{self, Word};

/// Most definitions listed for one chunk. A chunk of ordinary size has a few dozen at most; a generated file that is cut
/// into `chunks_max` large chunks can have more, and the rest is then known by the chunk's words alone.
pub(super) const DEFINITIONS_MAX: usize = 4096;

/// A definition. It belongs to the chunk in which its name stands, so that each is listed once.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Defined {
    /// Simple name; of a handler without a name the call that it is given to: `app.get('/x')`.
    pub name: String,
    /// The name with those of the definitions around it: `Outer.inner`, or with the language's own separator.
    pub qualified: String,
    /// `function`, `method`, `class` … as for chunks.
    #[serde(with = "word")]
    pub kind: Word,
    /// From its head to its body, on one line, at most 200 characters; none for a section.
    pub signature: Option<String>,
    /// Line of the name, 1-based.
    pub line: u32,
    /// Column of the name in characters, 1-based.
    pub column: u32,
    /// First line of the definition with its attributes and decorators, 1-based.
    pub start_line: u32,
    /// Last line, inclusive.
    pub end_line: u32,
    /// Whether other files can use it; none where the language's facts do not tell.
    pub exported: Option<bool>,
    /// What holds of it: facts of its own lines in its chunk, without those of the definitions inside; sorted.
    pub facts: Vec<(Field, String)>,
}

impl Defined {
    /// The folded names by which it is found. Headings and keys are no names of code, and an `impl` names what is defined
    /// elsewhere.
    #[must_use]
    pub fn forms(&self) -> Vec<String> {
        if matches!(self.kind, "section" | "impl") {
            Vec::new()
        } else {
            name_forms(&self.name, &self.qualified)
        }
    }
}

/// The name of what a definition stands in, as the qualified name says it; none at the top level.
#[must_use]
pub fn container<'q>(name: &str, qualified: &'q str) -> Option<&'q str> {
    let outer = qualified.strip_suffix(name)?.trim_end_matches(JOINTS);
    (!outer.is_empty()).then_some(outer)
}

/// What stands between the parts of a qualified name.
const JOINTS: [char; 6] = [':', '.', '#', '\\', '/', ' '];

/// The folded forms of a name: by itself, with what it stands in, and as a whole; each once.
#[must_use]
pub fn name_forms(name: &str, qualified: &str) -> Vec<String> {
    let simple = squash(name);
    let outer = container(name, qualified).and_then(|outer| outer.rsplit(JOINTS).next());
    let mut forms = vec![squash(qualified)];
    forms.extend(outer.map(|outer| squash(outer) + &simple));
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
        assert_eq!(container("open", "a::Store::open"), Some("a::Store"));
        assert_eq!(container("app.get('/x')", "app.get('/x')"), None);
    }
}
