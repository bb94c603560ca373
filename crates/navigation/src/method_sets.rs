//! Sets of methods. By having its methods, a type of Go implements an interface without naming it.

use std::collections::BTreeMap;

use languages::symbols::{Arena, Expr, ExprId, Interface, Place, Symbol, SymbolKind};

/// Longest signature that is certainly complete, in characters: longer ones are cut where they are stored, and then may lose a bracket or a
/// comma.
const WHOLE_CHARS_MAX: usize = 190;
/// Comments and texts, in which brackets and commas mean nothing.
const UNREADABLE: [&str; 4] = ["//", "/*", "\"", "`"];
/// The keyword at the beginning of a function declaration.
const FUNCTION: &str = "func";

/// The name of a method. A method that other packages do not see belongs to its package: the same name in another package is another
/// method.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MethodName {
    name: String,
    /// Folder of its package, if others do not see it.
    folder: Option<String>,
}

impl MethodName {
    /// Returns the name of a method in a package, given by its folder.
    #[must_use]
    pub fn new(name: &str, folder: &str) -> Self {
        let is_exported = name.starts_with(char::is_uppercase);
        Self { name: name.to_owned(), folder: (!is_exported).then(|| folder.to_owned()) }
    }

    /// Returns the name alone.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.name
    }
}

/// The number of parameters and results of a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Number of parameters; a variadic one counts as one.
    pub parameters: usize,
    /// Number of results.
    pub results: usize,
}

impl Shape {
    /// Parses the signature of a method of an interface or a type; `None` if the signature may be cut or cannot be read.
    #[must_use]
    pub fn parse(signature: &str) -> Option<Self> {
        let is_unreadable = UNREADABLE.iter().any(|mark| signature.contains(mark));
        if is_unreadable || signature.chars().count() > WHOLE_CHARS_MAX {
            return None;
        }
        let named = match receiver_and_rest(signature) {
            Some(rest) => list(rest)?.1,
            None => signature,
        };
        let (parameters, results) = list(&named[named.find('(')?..])?;
        let results = match results.trim() {
            "" => 0,
            listed if listed.starts_with('(') => match list(listed)? {
                (count, rest) if rest.trim().is_empty() => count,
                _ => return None,
            },
            // One type, unless its brackets do not match because the signature is cut.
            one => match list(&format!("({one})"))? {
                (1, "") => 1,
                _ => return None,
            },
        };
        Some(Self { parameters, results })
    }
}

/// Checks whether a signature belongs to a method of a type, which names its receiver, and not to one of an interface.
#[must_use]
pub fn has_receiver(signature: &str) -> bool {
    receiver_and_rest(signature).is_some()
}

/// Returns what follows `func` in the declaration of a method.
fn receiver_and_rest(signature: &str) -> Option<&str> {
    let rest = signature.strip_prefix(FUNCTION)?.trim_start();
    rest.starts_with('(').then_some(rest)
}

/// Counts the parts of the list in brackets at the beginning of a text, and returns them with what follows the list.
fn list(text: &str) -> Option<(usize, &str)> {
    let (mut depth, mut count, mut has_part) = (0_usize, 0, false);
    for (at, character) in text.char_indices() {
        match character {
            '(' | '[' | '{' => {
                has_part |= depth > 0;
                depth += 1;
            }
            ')' | ']' | '}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some((count + usize::from(has_part), &text[at + 1..]));
                }
            }
            ',' if depth == 1 => {
                count += usize::from(has_part);
                has_part = false;
            }
            other => has_part |= !other.is_whitespace(),
        }
    }
    None
}

/// The methods that a type has, or that an interface demands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MethodSet {
    /// The shape of each method, where it is known.
    pub methods: BTreeMap<MethodName, Option<Shape>>,
    /// `true` if these are all.
    pub is_complete: bool,
}

/// The degree to which the methods of a type fit those of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// It has all of them, with as many parameters and results, and none is unknown.
    Whole,
    /// It has methods of all names that are known, but not all is known of them.
    Names,
    /// It has some of them, and lacks others.
    Part,
}

impl MethodSet {
    /// Checks whether one of the methods is seen only in its package.
    #[must_use]
    pub fn has_hidden(&self) -> bool {
        self.methods.keys().any(|name| name.folder.is_some())
    }

    /// Compares with the methods of a type; `None` if it has none of these, or one of another shape.
    #[must_use]
    pub fn fit(&self, of_type: &Self) -> Option<Fit> {
        let mut fit = if self.is_complete { Fit::Whole } else { Fit::Names };
        let mut lacking = 0;
        for (name, demanded) in &self.methods {
            match (of_type.methods.get(name), demanded) {
                (None, _) => lacking += 1,
                (Some(Some(has)), Some(demanded)) if has == demanded => {}
                (Some(Some(_)), Some(_)) => return None,
                (Some(_), _) => fit = Fit::Names,
            }
        }
        match lacking {
            0 if self.methods.is_empty() => None,
            0 => Some(fit),
            all if all == self.methods.len() => None,
            _ => Some(Fit::Part),
        }
    }
}

/// Returns the types that are embedded by the type whose name is at a place, as they are written there; `None` if the file has no type at
/// that place.
#[must_use]
pub fn embedded(interface: &Interface, place: Place) -> Option<Vec<String>> {
    let is_it = |symbol: &&Symbol| symbol.kind == SymbolKind::Type && symbol.place == place;
    let of = interface.symbols.iter().find(is_it)?;
    Some(of.bases.iter().map(|base| written(&interface.arena, *base)).collect())
}

/// Returns the name of a type with that of its package; empty if it has no name.
fn written(arena: &Arena, base: ExprId) -> String {
    let mut names = Vec::new();
    let mut next = Some(base);
    while let Some(at) = next {
        // A part has a smaller number than the whole, so this ends.
        next = match arena.expr(at) {
            Expr::Name(name) => {
                names.push(arena.text(*name));
                None
            }
            Expr::Member(of, name) => {
                names.push(arena.text(*name));
                Some(*of).filter(|of| *of < at)
            }
            Expr::Apply(of, _) => Some(*of).filter(|of| *of < at),
            _ => None,
        };
    }
    names.reverse();
    names.join(".")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::symbols_of;
    use languages::by_name;

    #[test]
    fn signatures_show_the_number_of_parameters_and_results() {
        for (signature, parameters, results) in [
            ("Close()", 0, 0),
            ("Close() error", 0, 1),
            ("Next(ctx context.Context) (int, error)", 1, 2),
            ("Read(p []byte) (n int, err error)", 1, 2),
            ("Move(x, y int, more ...float64)", 3, 0),
            ("func (q *Queue[K, V]) Get(key K) (V, bool)", 1, 2),
            ("func(m Mux) Route(string, func(a, b int) (c, d int)) map[string]int", 2, 1),
            ("func (T) Walk(visit func(*Node) (bool, error)) func() error", 1, 1),
            ("Set( a int, b struct{ x, y int }, ) interface{ A(); B() }", 2, 1),
            ("Recv() (<-chan int)", 0, 1),
            ("funcs() chan<- struct{}", 0, 1),
        ] {
            assert_eq!(Shape::parse(signature), Some(Shape { parameters, results }), "{signature}");
        }
    }

    #[test]
    fn of_a_signature_that_is_cut_or_has_comments_nothing_is_known() {
        let long = format!("Do({}x int)", "a, ".repeat(80));
        for signature in [
            "",
            "Close",
            "Do(a int",
            "Do(a int) (b int",
            "Do(a int) map[string",
            "Do(/* a, b */ int)",
            long.as_str(),
        ] {
            assert_eq!(Shape::parse(signature), None, "{signature}");
        }
    }

    #[test]
    fn only_methods_of_types_have_a_receiver() {
        assert!(has_receiver("func (m *Mux) Route()") && has_receiver("func(m *Mux) Route()"));
        assert!(!has_receiver("Route()") && !has_receiver("funcs()") && !has_receiver("func Route()"));
    }

    fn set(signatures: &[&str]) -> MethodSet {
        let method = |signature: &&str| {
            let name = signature.split('(').next().unwrap_or_default();
            (MethodName::new(name, "a"), Shape::parse(signature))
        };
        MethodSet { methods: signatures.iter().map(method).collect(), is_complete: true }
    }

    #[test]
    fn a_type_implements_what_it_has_all_methods_of() {
        let store = set(&["Get(key string) int", "Put(key string, value int)"]);
        let fit = |methods: &[&str]| store.fit(&set(methods));
        assert_eq!(fit(&["Get(string) int", "Put(k string, v int)", "Close()"]), Some(Fit::Whole));
        assert_eq!(fit(&["Get(string) int", "Put(k string"]), Some(Fit::Names));
        assert_eq!(fit(&["Get(string) int", "Close()"]), Some(Fit::Part));
        assert_eq!(fit(&["Get(string) (int, error)", "Put(k string, v int)"]), None);
        assert_eq!(fit(&["Get(string) (int, error)"]), None);
        assert_eq!(fit(&["Close()"]), None);
        // If not all methods of an interface are known, only the names can fit.
        let open = MethodSet { is_complete: false, ..store.clone() };
        assert_eq!(open.fit(&store), Some(Fit::Names));
        assert_eq!(MethodSet::default().fit(&store), None, "an interface without methods");
    }

    #[test]
    fn a_method_that_others_do_not_see_is_that_of_its_package() {
        let demanded =
            MethodSet { methods: [(MethodName::new("seal", "a"), None)].into(), is_complete: true };
        let elsewhere =
            MethodSet { methods: [(MethodName::new("seal", "b"), None)].into(), is_complete: true };
        assert_eq!(demanded.fit(&elsewhere), None);
        assert_eq!(demanded.fit(&demanded), Some(Fit::Names));
        assert_eq!(MethodName::new("Seal", "a"), MethodName::new("Seal", "b"));
        assert!(demanded.has_hidden() && !set(&["Seal()"]).has_hidden());
    }

    #[test]
    fn embedded_types_are_returned_as_written() {
        let text = "package a\n\nimport \"io\"\n\ntype Body interface {\n\tio.Reader\n\terror\n\tSet[int]\n\tClose()\n}\n\n\
            type File struct {\n\t*io.PipeReader\n\tBody\n\tname string\n}\n";
        let symbols = symbols_of(text, by_name("go"));
        let at = |line| embedded(&symbols.interface, Place { line, column: 6 });
        assert_eq!(at(5).unwrap(), ["io.Reader", "error", "Set"]);
        assert_eq!(at(12).unwrap(), ["io.PipeReader", "Body"]);
        assert_eq!(at(6), None);
    }

    #[test]
    fn a_union_is_embedded_without_a_name() {
        let text = "package a\n\ntype Number interface {\n\t~int | ~float64\n\tString() string\n}\n\n\
            type Whole interface {\n\t~int\n}\n";
        let symbols = symbols_of(text, by_name("go"));
        let at = |line| embedded(&symbols.interface, Place { line, column: 6 });
        assert_eq!(at(3).unwrap(), [""]);
        assert_eq!(at(8).unwrap(), ["int"]);
    }
}
