//! Implementations of a symbol, and the symbols that it implements, in a language whose types do not name their interfaces: Go.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::grouping::Target;
use super::implementers::{self, Implemented, Implementers, METHOD};
use super::navigator::Navigator;
use super::request::Certainty;
use super::type_graph::{GO, INTERFACE, TypeKey};
use super::walk::Node;
use ::navigation::method_sets::{Fit, MethodName, has_receiver};
use contract::Fault;
use store::navigation::DefinitionAt;
use store::uses::{Certainty as StoredCertainty, UsedFor};

/// Maximum number of methods that are listed with a type that overrides them.
pub(super) const OVERRIDES_MAX: usize = 20;

/// Relations of a symbol that follow from methods alone.
#[derive(Debug, Default)]
pub(super) struct Implicit {
    /// Implementations, one step away; with a negative distance, the symbols that it implements.
    pub(super) nodes: Vec<Node>,
    /// The same relations where only the names of methods fit, or not all methods are known.
    pub(super) by_name: Vec<Node>,
    /// The methods by which a type implements the symbol, by file and qualified name of the type.
    pub(super) overrides: HashMap<(i64, String), Vec<String>>,
    /// Name of the interface or type that was compared.
    pub(super) compared: String,
    /// Gaps in these relations.
    pub(super) gaps: Vec<Gap>,
}

/// A gap in the implementations of an interface, or in the interfaces of a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Gap {
    /// The interface demands nothing.
    NoMethods,
    /// The interface embeds this type, which is unknown.
    Demanded(String),
    /// The interface embeds only this type, which is unknown.
    OnlyDemanded(String),
    /// This number of types have some of the methods, and embed an unknown type.
    Undecided(usize),
    /// The type embeds this type, which is unknown.
    Had(String),
    /// Not all types and methods were examined.
    Truncated,
}

/// A method, and its name in sets of methods.
#[derive(Debug, Clone, Copy)]
struct Method<'a> {
    row: &'a DefinitionAt,
    name: &'a MethodName,
}

/// Finds the implementations of a symbol, and with `has_bases` also the symbols that it implements.
pub(super) async fn find(
    navigator: &mut Navigator<'_>,
    target: &Target,
    has_bases: bool,
) -> Result<Implicit, Fault> {
    let mut found = Implicit::default();
    let is_asked = navigator.request.certainty != Certainty::Scip;
    let Some(first) = target.first().filter(|first| is_asked && first.language.as_deref() == Some(GO)) else {
        return Ok(found);
    };
    match first.kind.as_str() {
        INTERFACE => found.add_implementers(navigator, first, None).await?,
        "struct" | "type" if has_bases => {
            found.add_implemented(navigator, first, &TypeKey::of_type(first), None).await?;
        }
        METHOD => found.add_of_method(navigator, first, has_bases).await?,
        _ => {}
    }
    let mut seen: HashSet<i64> = HashSet::new();
    found.nodes.retain(|node| seen.insert(node.symbol));
    found.by_name.retain(|node| seen.insert(node.symbol));
    Ok(found)
}

impl Implicit {
    /// Adds the implementations of an interface's method, or the methods that a type's method implements.
    async fn add_of_method(
        &mut self,
        navigator: &mut Navigator<'_>,
        row: &DefinitionAt,
        has_bases: bool,
    ) -> Result<(), Fault> {
        let Some(key) = TypeKey::of_method(row) else { return Ok(()) };
        let name = MethodName::new(&row.name, &key.folder);
        let method = Some(Method { row, name: &name });
        if row.signature.as_deref().is_some_and(has_receiver) {
            return match has_bases {
                true => self.add_implemented(navigator, row, &key, method).await,
                false => Ok(()),
            };
        }
        let keys = BTreeSet::from([key]);
        let (types, are_cut) = implementers::types_of(navigator, row.repository_id, &keys).await?;
        self.note_truncated(are_cut);
        let is_around = |one: &&DefinitionAt| one.kind == INTERFACE && one.file_id == row.file_id;
        match types.iter().find(is_around) {
            Some(interface) => self.add_implementers(navigator, interface, method).await,
            None => Ok(()),
        }
    }

    /// Adds the types that implement an interface, or their methods that implement one of its methods.
    async fn add_implementers(
        &mut self,
        navigator: &mut Navigator<'_>,
        interface: &DefinitionAt,
        method: Option<Method<'_>>,
    ) -> Result<(), Fault> {
        let asked = method.map(|method| method.name);
        let Implementers { demanded, unknown, types, undecided, is_cut } =
            implementers::of_interface(navigator, interface, asked).await?;
        let names = demanded.methods.keys().take(OVERRIDES_MAX);
        let names: Vec<String> = names.map(|name| name.as_str().to_owned()).collect();
        self.compared.clone_from(&interface.name);
        for one in &types {
            match method {
                Some(method) => {
                    for of_type in &one.methods {
                        self.add(*of_type, method.row, (1, UsedFor::Override), one.fit);
                    }
                }
                None => {
                    for row in &one.definitions {
                        self.add((row.symbol, row.file_id), interface, (1, UsedFor::Inherit), one.fit);
                        self.overrides.insert((row.file_id, row.qualified.clone()), names.clone());
                    }
                }
            }
        }
        self.gaps.extend(match (unknown, names.is_empty()) {
            (None, true) => Some(Gap::NoMethods),
            (None, false) => None,
            (Some(embedded), true) => Some(Gap::OnlyDemanded(embedded)),
            (Some(embedded), false) => Some(Gap::Demanded(embedded)),
        });
        self.gaps.extend((undecided > 0).then_some(Gap::Undecided(undecided)));
        self.note_truncated(is_cut);
        Ok(())
    }

    /// Adds the interfaces that a type implements, or their methods that one of its methods implements.
    async fn add_implemented(
        &mut self,
        navigator: &mut Navigator<'_>,
        of: &DefinitionAt,
        key: &TypeKey,
        method: Option<Method<'_>>,
    ) -> Result<(), Fault> {
        let asked = method.map(|method| method.name);
        let Implemented { unknown, interfaces, is_cut } =
            implementers::of_type(navigator, of.repository_id, key, asked).await?;
        self.compared = key.simple().to_owned();
        for (interface, methods, fit) in &interfaces {
            match method {
                Some(_) => {
                    for demanded in methods {
                        self.add(*demanded, of, (-1, UsedFor::Override), *fit);
                    }
                }
                None => {
                    let interface = (interface.symbol, interface.file_id);
                    self.add(interface, of, (-1, UsedFor::Inherit), *fit);
                }
            }
        }
        self.gaps.extend(unknown.map(Gap::Had));
        self.note_truncated(is_cut);
        Ok(())
    }

    /// Records once that not everything was examined.
    fn note_truncated(&mut self, is_cut: bool) {
        if is_cut && !self.is_truncated() {
            self.gaps.push(Gap::Truncated);
        }
    }

    /// Returns whether not everything was examined.
    pub(super) fn is_truncated(&self) -> bool {
        self.gaps.contains(&Gap::Truncated)
    }

    /// Adds a definition, given by its symbol and its file, that is reached from another one.
    fn add(
        &mut self,
        (symbol, file_id): (Option<i64>, i64),
        from: &DefinitionAt,
        (distance, kind): (i32, UsedFor),
        fit: Fit,
    ) {
        let (Some(symbol), Some(via)) = (symbol, from.symbol) else { return };
        let (nodes, certainty) = match fit {
            Fit::Whole => (&mut self.nodes, StoredCertainty::Resolved),
            Fit::Names | Fit::Part => (&mut self.by_name, StoredCertainty::Name),
        };
        let (kinds, places) = (kind.bit(), Vec::new());
        nodes.push(Node { symbol, file_id, distance, via, certainty, kinds, places });
    }
}
