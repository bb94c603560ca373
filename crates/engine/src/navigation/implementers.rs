//! Types of Go that implement an interface, and interfaces that a type implements, by the methods that they have.
//!
//! This is computed on request and not stored by an index run: a method that is added to a type in one file changes which interfaces other
//! files implement, though they mention neither the type nor the method, and an interface of one common method has as many pairs as there
//! are types with that method.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::find::name_id;
use super::navigator::Navigator;
use super::type_graph::{
    GO, INTERFACE, KINDS, LOOKS_MAX, METHODS_MAX, Methods, Own, TYPES_MAX, Towards, TypeGraph, TypeKey,
    by_type, is_full,
};
use ::navigation::method_sets::{Fit, MethodName, MethodSet, has_receiver};
use contract::Fault;
use store::method_sets::{self, NamedOfKinds};
use store::navigation::DefinitionAt;

/// Kind of methods.
pub(super) const METHOD: &str = "method";
/// The start of the signature of a method that does not belong to an interface, as every formatted file has it.
const WITH_RECEIVER: &str = "func (";
/// Maximum number of names that are looked up at once.
const NAMES_MAX: usize = TYPES_MAX;
/// Maximum number of interfaces whose methods are compared with those of one type.
const INTERFACES_MAX: usize = 500;
/// Maximum number of types with some of the methods whose other embedded types are examined; further ones do not count.
const PARTIAL_MAX: usize = 200;

/// A definition of a method, as symbol and file.
pub(super) type MethodPlace = (Option<i64>, i64);

/// A type that implements an interface.
#[derive(Debug)]
pub(super) struct Implementer {
    /// Definitions of the type.
    pub(super) definitions: Vec<DefinitionAt>,
    /// The definitions of the method that is asked for, as symbol and file.
    pub(super) methods: Vec<MethodPlace>,
    /// Fit of its methods.
    pub(super) fit: Fit,
}

/// The types that implement an interface.
#[derive(Debug, Default)]
pub(super) struct Implementers {
    /// The methods that the interface demands.
    pub(super) demanded: MethodSet,
    /// The embedded type of the interface whose methods are not known.
    pub(super) unknown: Option<String>,
    /// The types that implement it.
    pub(super) types: Vec<Implementer>,
    /// Number of types that have some of the methods, and embed a type that may have the others.
    pub(super) undecided: usize,
    /// `true` if there may be more types.
    pub(super) is_cut: bool,
}

/// Remaining work for comparing types.
struct Looks {
    left: usize,
}

impl Looks {
    fn new() -> Self {
        Self { left: LOOKS_MAX }
    }

    /// Returns the methods of a type; `None` if the limit of work is reached. Lets other tasks run first, as types may have many methods.
    async fn methods<'g>(&mut self, graph: &'g TypeGraph, key: &TypeKey) -> Option<Methods<'g>> {
        tokio::task::yield_now().await;
        if self.left == 0 {
            return None;
        }
        let methods = graph.methods(key);
        self.left = self.left.saturating_sub(methods.looks);
        Some(methods)
    }
}

/// Returns the types that implement an interface, each with its definitions of a method if one is asked for.
pub(super) async fn of_interface(
    navigator: &mut Navigator<'_>,
    interface: &DefinitionAt,
    method: Option<&MethodName>,
) -> Result<Implementers, Fault> {
    let demands = demands(navigator, std::slice::from_ref(interface)).await?;
    let key = TypeKey::of_type(interface);
    let demanded = demanded_set(&demands.methods(&key), &demands);
    let mut found = Implementers {
        unknown: demands.methods(&key).unknown(),
        is_cut: demands.is_cut,
        ..Implementers::default()
    };
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
    let mut looks = Looks::new();
    for (key, definitions) in &graph.types {
        if graph.is_interface(key) {
            continue;
        }
        let Some(methods) = looks.methods(&graph, key).await else {
            found.is_cut = true;
            break;
        };
        match demanded.fit(&methods.set()) {
            None => {}
            Some(Fit::Part) => partial.extend(definitions.iter().cloned()),
            Some(fit) => {
                let methods = asked(&methods, method);
                let fit = within_package(fit, &demanded, interface, definitions);
                found.types.push(Implementer { definitions: definitions.clone(), methods, fit });
            }
        }
    }
    found.undecided = undecided(navigator, partial).await?;
    found.demanded = demanded;
    Ok(found)
}

/// The interfaces that a type implements.
#[derive(Debug, Default)]
pub(super) struct Implemented {
    /// The embedded type whose methods are not known.
    pub(super) unknown: Option<String>,
    /// The interfaces, each with its definitions of the method that is asked for, as symbol and file, and the fit of the type's methods.
    pub(super) interfaces: Vec<(DefinitionAt, Vec<MethodPlace>, Fit)>,
    /// `true` if there may be more interfaces.
    pub(super) is_cut: bool,
}

/// Returns the interfaces that a type implements, each with its definitions of a method if one is asked for.
pub(super) async fn of_type(
    navigator: &mut Navigator<'_>,
    repository: i64,
    key: &TypeKey,
    method: Option<&MethodName>,
) -> Result<Implemented, Fault> {
    let (definitions, are_cut) = types_of(navigator, repository, &BTreeSet::from([key.clone()])).await?;
    let mut graph = TypeGraph::follow(navigator, &definitions, Towards::Embedded).await?;
    graph.read_methods(navigator).await?;
    graph.note_unknown(navigator).await?;
    let has = graph.methods(key).set();
    let mut found = Implemented {
        unknown: graph.methods(key).unknown(),
        is_cut: are_cut || graph.is_cut,
        ..Implemented::default()
    };
    if has.methods.is_empty() {
        return Ok(found);
    }
    let (interfaces, are_cut) = interfaces_with(navigator, repository, &has).await?;
    let demands = demands(navigator, &interfaces).await?;
    found.is_cut |= are_cut || demands.is_cut;
    let mut looks = Looks::new();
    for interface in interfaces {
        let Some(methods) = looks.methods(&demands, &TypeKey::of_type(&interface)).await else {
            found.is_cut = true;
            break;
        };
        let demanded = demanded_set(&methods, &demands);
        match demanded.fit(&has) {
            None | Some(Fit::Part) => {}
            Some(fit) => {
                let methods = asked(&methods, method);
                let fit = within_package(fit, &demanded, &interface, &definitions);
                found.interfaces.push((interface, methods, fit));
            }
        }
    }
    Ok(found)
}

/// Returns the interfaces that demand one of these methods, or embed such an interface, and whether there may be more.
async fn interfaces_with(
    navigator: &mut Navigator<'_>,
    repository: i64,
    methods: &MethodSet,
) -> Result<(Vec<DefinitionAt>, bool), Fault> {
    let (rows, has_more_methods) =
        named(navigator, repository, &[METHOD], names(methods), Some(WITH_RECEIVER)).await?;
    let has_none = |row: &&DefinitionAt| !row.signature.as_deref().is_some_and(has_receiver);
    let keys: BTreeSet<TypeKey> = rows.iter().filter(has_none).filter_map(TypeKey::of_method).collect();
    let (mut interfaces, has_more_types) = types_of(navigator, repository, &keys).await?;
    interfaces.retain(|row| row.kind == INTERFACE);
    // Interfaces that embed them may have no method of their own.
    let above = TypeGraph::follow(navigator, &interfaces, Towards::Embedding).await?;
    let mut interfaces: Vec<DefinitionAt> =
        above.types.into_values().flatten().filter(|row| row.kind == INTERFACE).collect();
    let is_cut = has_more_methods || has_more_types || above.is_cut || interfaces.len() > INTERFACES_MAX;
    interfaces.truncate(INTERFACES_MAX);
    Ok((interfaces, is_cut))
}

/// Returns the definitions of types, and whether there may be more.
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

/// Returns the graph of interfaces with all methods that they demand.
async fn demands(navigator: &mut Navigator<'_>, interfaces: &[DefinitionAt]) -> Result<TypeGraph, Fault> {
    let mut graph = TypeGraph::follow(navigator, interfaces, Towards::Embedded).await?;
    graph.read_methods(navigator).await?;
    graph.note_unknown(navigator).await?;
    Ok(graph)
}

/// Returns the definitions of the method that is asked for, as symbol and file.
fn asked(methods: &Methods<'_>, method: Option<&MethodName>) -> Vec<MethodPlace> {
    let rows = method.map(|name| methods.definitions(name)).unwrap_or_default();
    rows.iter().map(|row| (row.symbol, row.file_id)).collect()
}

/// Returns the methods that an interface demands; incomplete if the graph of its embedded types is.
fn demanded_set(methods: &Methods<'_>, demands: &TypeGraph) -> MethodSet {
    let set = methods.set();
    MethodSet { is_complete: set.is_complete && !demands.is_cut, ..set }
}

/// Returns the names of methods.
fn names(methods: &MethodSet) -> BTreeSet<&str> {
    methods.methods.keys().map(MethodName::as_str).collect()
}

/// Returns the definitions of some names, and whether there may be more.
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

/// Keeps the types that have the most of the methods. Returns whether there were too many.
fn keep_fullest(types: &mut BTreeMap<TypeKey, Own>) -> bool {
    if types.len() <= TYPES_MAX {
        return false;
    }
    let mut order: Vec<(usize, TypeKey)> =
        types.iter().map(|(key, own)| (own.count(), key.clone())).collect();
    order.sort_by_key(|(count, _)| Reverse(*count));
    for (_, key) in order.drain(TYPES_MAX..) {
        types.remove(&key);
    }
    true
}

/// Adjusts the fit of a type to an interface if they may not be in the same package: the tests in a folder may be a package of their own.
/// So types of one name and folder may be two types, and a method that other packages do not see may be another one in tests.
fn within_package(fit: Fit, demanded: &MethodSet, interface: &DefinitionAt, types: &[DefinitionAt]) -> Fit {
    let is_test = |row: &DefinitionAt| row.path.ends_with("_test.go");
    let is_all = types.iter().all(is_test);
    let are_two = is_all != types.iter().any(is_test);
    if are_two || (demanded.has_hidden() && is_all != is_test(interface)) { Fit::Names } else { fit }
}

/// Returns the number of types that embed a type whose methods are not known.
async fn undecided(navigator: &mut Navigator<'_>, mut types: Vec<DefinitionAt>) -> Result<usize, Fault> {
    if types.is_empty() {
        return Ok(0);
    }
    types.truncate(PARTIAL_MAX);
    let mut graph = TypeGraph::follow(navigator, &types, Towards::Embedded).await?;
    graph.note_unknown(navigator).await?;
    let keys: BTreeSet<TypeKey> = types.iter().map(TypeKey::of_type).collect();
    let (mut looks, mut count) = (Looks::new(), 0);
    for key in &keys {
        // A type that is not examined counts as unknown.
        let methods = looks.methods(&graph, key).await;
        count += usize::from(methods.is_none_or(|methods| methods.unknown().is_some()));
    }
    Ok(count)
}
