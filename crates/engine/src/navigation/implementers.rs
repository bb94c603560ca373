//! Which types of Go implement an interface, and which interfaces a type implements, by the methods that they have.
//!
//! This is found when it is asked for, and not stored by an index run: a method that is added to a type in one file changes what other
//! files implement, though they mention neither the type nor the method, and an interface of one common method has as many pairs as
//! there are types with it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::find::name_id;
use super::navigator::Navigator;
use super::type_graph::{
    GO, INTERFACE, KINDS, METHODS_MAX, Methods, TYPES_MAX, Towards, TypeGraph, TypeKey, by_type, is_full,
};
use ::navigation::method_sets::{Fit, MethodName, MethodSet, has_receiver};
use contract::Fault;
use store::method_sets::{self, NamedOfKinds};
use store::navigation::DefinitionAt;

/// The kind of methods.
pub(super) const METHOD: &str = "method";
/// What the signature of a method begins with that is not one of an interface, as every formatted file has it.
const WITH_RECEIVER: &str = "func (";
/// Most names that are looked up at once.
const NAMES_MAX: usize = TYPES_MAX;
/// Most interfaces whose methods are compared with those of one type.
const INTERFACES_MAX: usize = 500;
/// Most types with some of the methods that are asked what else they embed; others do not count.
const PARTIAL_MAX: usize = 200;

/// A type that implements an interface.
#[derive(Debug)]
pub(super) struct Implementer {
    /// Its definitions.
    pub(super) definitions: Vec<DefinitionAt>,
    /// Its methods, as far as the interface has their names.
    pub(super) methods: Methods,
    /// How they fit.
    pub(super) fit: Fit,
}

/// What implements an interface.
#[derive(Debug, Default)]
pub(super) struct Implementers {
    /// The methods that the interface demands.
    pub(super) demanded: Methods,
    /// The types that have them.
    pub(super) types: Vec<Implementer>,
    /// Number of types that have some of them, and embed what may have the others.
    pub(super) undecided: usize,
    /// Whether there may be more types.
    pub(super) is_cut: bool,
}

/// The types that implement an interface.
pub(super) async fn of_interface(
    navigator: &mut Navigator<'_>,
    interface: &DefinitionAt,
) -> Result<Implementers, Fault> {
    let demands = demands(navigator, std::slice::from_ref(interface)).await?;
    let mut found = Implementers {
        demanded: demands.methods(&TypeKey::of_type(interface)),
        is_cut: demands.is_cut,
        ..Implementers::default()
    };
    let demanded = demanded_set(&found.demanded, &demands);
    if demanded.methods.is_empty() {
        return Ok(found);
    }
    let (rows, are_cut) =
        named(navigator, interface.repository_id, &[METHOD], names(&demanded), None).await?;
    found.is_cut |= are_cut;
    let mut own = by_type(rows);
    found.is_cut |= keep_fullest(&mut own);
    let keys: BTreeSet<TypeKey> = own.keys().cloned().collect();
    let (types, are_cut) = types_of(navigator, interface.repository_id, &keys).await?;
    let mut graph = TypeGraph::follow(navigator, &types, Towards::Embedding).await?;
    found.is_cut |= are_cut || graph.is_cut;
    graph.own = own;
    let mut partial: Vec<DefinitionAt> = Vec::new();
    for (key, definitions) in graph.types.iter().filter(|(key, _)| !graph.is_interface(key)) {
        let methods = graph.methods(key);
        match demanded.fit(&methods.set()) {
            None => {}
            Some(Fit::Part) => partial.extend(definitions.iter().cloned()),
            Some(fit) => {
                let fit = if is_of_two_packages(definitions) { Fit::Names } else { fit };
                found.types.push(Implementer { definitions: definitions.clone(), methods, fit });
            }
        }
    }
    found.undecided = undecided(navigator, partial).await?;
    Ok(found)
}

/// What a type implements.
#[derive(Debug, Default)]
pub(super) struct Implemented {
    /// The methods of the type.
    pub(super) methods: Methods,
    /// The interfaces, each with its methods and how those of the type fit.
    pub(super) interfaces: Vec<(DefinitionAt, Methods, Fit)>,
    /// Whether there may be more interfaces.
    pub(super) is_cut: bool,
}

/// The interfaces that a type implements.
pub(super) async fn of_type(
    navigator: &mut Navigator<'_>,
    repository: i64,
    key: &TypeKey,
) -> Result<Implemented, Fault> {
    let (definitions, _) = types_of(navigator, repository, &BTreeSet::from([key.clone()])).await?;
    let mut graph = TypeGraph::follow(navigator, &definitions, Towards::Embedded).await?;
    graph.read_methods(navigator).await?;
    graph.note_unknown(navigator).await?;
    let mut found =
        Implemented { methods: graph.methods(key), is_cut: graph.is_cut, ..Implemented::default() };
    let has = found.methods.set();
    if has.methods.is_empty() {
        return Ok(found);
    }
    let (rows, are_cut) = named(navigator, repository, &[METHOD], names(&has), Some(WITH_RECEIVER)).await?;
    found.is_cut |= are_cut;
    let has_none = |row: &&DefinitionAt| !row.signature.as_deref().is_some_and(has_receiver);
    let keys: BTreeSet<TypeKey> = rows.iter().filter(has_none).filter_map(TypeKey::of_method).collect();
    let (mut interfaces, are_cut) = types_of(navigator, repository, &keys).await?;
    interfaces.retain(|row| row.kind == INTERFACE);
    // Those that embed them may have no method of their own.
    let above = TypeGraph::follow(navigator, &interfaces, Towards::Embedding).await?;
    let mut interfaces: Vec<DefinitionAt> =
        above.types.into_values().flatten().filter(|row| row.kind == INTERFACE).collect();
    found.is_cut |= are_cut || above.is_cut || interfaces.len() > INTERFACES_MAX;
    interfaces.truncate(INTERFACES_MAX);
    let demands = demands(navigator, &interfaces).await?;
    found.is_cut |= demands.is_cut;
    for interface in interfaces {
        let demanded = demands.methods(&TypeKey::of_type(&interface));
        match demanded_set(&demanded, &demands).fit(&has) {
            None | Some(Fit::Part) => {}
            Some(fit) => {
                let fit = if is_of_two_packages(&definitions) { Fit::Names } else { fit };
                found.interfaces.push((interface, demanded, fit));
            }
        }
    }
    Ok(found)
}

/// The definitions of types, and whether there may be more.
pub(super) async fn types_of(
    navigator: &mut Navigator<'_>,
    repository: i64,
    keys: &BTreeSet<TypeKey>,
) -> Result<(Vec<DefinitionAt>, bool), Fault> {
    let names = keys.iter().map(TypeKey::simple).collect();
    let (mut rows, are_cut) = named(navigator, repository, &KINDS, names, None).await?;
    rows.retain(|row| keys.contains(&TypeKey::of_type(row)));
    Ok((rows, are_cut))
}

/// Interfaces with all methods that they demand.
async fn demands(navigator: &mut Navigator<'_>, interfaces: &[DefinitionAt]) -> Result<TypeGraph, Fault> {
    let mut graph = TypeGraph::follow(navigator, interfaces, Towards::Embedded).await?;
    graph.read_methods(navigator).await?;
    graph.note_unknown(navigator).await?;
    Ok(graph)
}

/// What an interface demands; it is not all if the graph of what it embeds is not complete.
fn demanded_set(methods: &Methods, demands: &TypeGraph) -> MethodSet {
    let set = methods.set();
    MethodSet { is_complete: set.is_complete && !demands.is_cut, ..set }
}

/// The names of methods.
fn names(methods: &MethodSet) -> BTreeSet<&str> {
    methods.methods.keys().map(MethodName::as_str).collect()
}

/// The definitions of some names, and whether there may be more.
async fn named(
    navigator: &mut Navigator<'_>,
    repository_id: i64,
    kinds: &[&str],
    names: BTreeSet<&str>,
    unlike: Option<&str>,
) -> Result<(Vec<DefinitionAt>, bool), Fault> {
    if names.is_empty() {
        return Ok((Vec::new(), false));
    }
    let are_many = names.len() > NAMES_MAX;
    let names: Vec<(i64, &str)> =
        names.into_iter().take(NAMES_MAX).map(|name| (name_id(name), name)).collect();
    let wanted = NamedOfKinds { repository_id, language: GO, kinds, names: &names, unlike };
    let rows = method_sets::named(navigator.tx, wanted, METHODS_MAX).await?;
    let are_cut = are_many || is_full(rows.len(), METHODS_MAX);
    Ok((rows, are_cut))
}

/// Leaves the types that have most of the methods. Returns whether there were too many.
fn keep_fullest(types: &mut BTreeMap<TypeKey, Methods>) -> bool {
    if types.len() <= TYPES_MAX {
        return false;
    }
    let mut order: Vec<(usize, TypeKey)> =
        types.iter().map(|(key, methods)| (methods.set().methods.len(), key.clone())).collect();
    order.sort_by_key(|(count, _)| Reverse(*count));
    for (_, key) in order.drain(TYPES_MAX..) {
        types.remove(&key);
    }
    true
}

/// Whether types of one name and folder may be two: one of a package, and one of its tests, which may be a package of their own.
fn is_of_two_packages(definitions: &[DefinitionAt]) -> bool {
    let is_test = |row: &DefinitionAt| row.path.ends_with("_test.go");
    definitions.iter().any(is_test) && !definitions.iter().all(is_test)
}

/// The number of types that embed what may have methods that are not known.
async fn undecided(navigator: &mut Navigator<'_>, mut types: Vec<DefinitionAt>) -> Result<usize, Fault> {
    if types.is_empty() {
        return Ok(0);
    }
    types.truncate(PARTIAL_MAX);
    let mut graph = TypeGraph::follow(navigator, &types, Towards::Embedded).await?;
    graph.note_unknown(navigator).await?;
    let keys: BTreeSet<TypeKey> = types.iter().map(TypeKey::of_type).collect();
    Ok(keys.iter().filter(|key| graph.methods(key).unknown().is_some()).count())
}
