//! Types of Go with their methods, and which of them embed which: who embeds a type has its methods.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::navigator::{Navigator, line};
use crate::indexing::read_interface;
use ::navigation::method_sets::{MethodName, MethodSet, Shape, embedded};
use contract::Fault;
use languages::symbols::{Interface, Place};
use store::method_sets::{self, Package};
use store::navigation::{self, DefinitionAt};
use store::symbols;
use store::use_places::{self, Edge, WantedEdges};
use store::uses::{Certainty, UsedFor};

/// The language that this is about.
pub(super) const GO: &str = "go";
/// The kind of interfaces.
pub(super) const INTERFACE: &str = "interface";
/// The kind of types that embed others beside their fields.
const STRUCT: &str = "struct";
/// The kinds of types that can have methods.
pub(super) const KINDS: [&str; 3] = [STRUCT, INTERFACE, "type"];
/// The method of the interface `error`, which the language itself defines, and its shape.
const ERROR: (&str, Shape) = ("Error", Shape { parameters: 0, results: 1 });

/// Most steps from a type that embeds to one that is embedded.
const LEVELS_MAX: usize = 8;
/// Most types of one graph.
pub(super) const TYPES_MAX: usize = 2000;
/// Most edges that are read for one step.
const EDGES_MAX: i64 = 10_000;
/// Most methods that are read at once.
pub(super) const METHODS_MAX: i64 = 20_000;
/// Most packages whose methods are read.
const PACKAGES_MAX: usize = 64;
/// Most files that are asked what their types embed.
const FILES_MAX: usize = 500;

/// A type by its package and its name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct TypeKey {
    /// The folder of the package.
    pub(super) folder: String,
    /// The qualified name.
    pub(super) name: String,
}

impl TypeKey {
    /// The key of a type that is defined.
    pub(super) fn of_type(row: &DefinitionAt) -> Self {
        Self { folder: folder(row).to_owned(), name: row.qualified.clone() }
    }

    /// The key of the type that has a method.
    pub(super) fn of_method(row: &DefinitionAt) -> Option<Self> {
        let name = languages::container(&row.name, &row.qualified)?.to_owned();
        Some(Self { folder: folder(row).to_owned(), name })
    }

    /// The name without those of functions around it.
    pub(super) fn simple(&self) -> &str {
        simple(&self.name)
    }
}

fn folder(row: &DefinitionAt) -> &str {
    row.path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The last part of a name.
fn simple(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// The methods of a type.
#[derive(Debug, Clone, Default)]
pub(super) struct Methods {
    /// The definitions of each: several where builds differ, none where several types that are embedded hide each other's.
    by_name: BTreeMap<MethodName, Vec<DefinitionAt>>,
    /// What it embeds of which nothing is known, as it is written; an empty text for what was not read.
    unknown: BTreeSet<String>,
    /// Whether it embeds `error`.
    is_error: bool,
}

impl Methods {
    /// Their names and shapes.
    pub(super) fn set(&self) -> MethodSet {
        let known = self.by_name.iter().filter(|(_, rows)| !rows.is_empty());
        let mut methods: BTreeMap<MethodName, Option<Shape>> =
            known.map(|(name, rows)| (name.clone(), common_shape(rows))).collect();
        if self.is_error {
            methods.insert(MethodName::new(ERROR.0, ""), Some(ERROR.1));
        }
        MethodSet { methods, is_complete: self.unknown.is_empty() }
    }

    /// The definitions of the method of a name.
    pub(super) fn definitions(&self, name: &MethodName) -> &[DefinitionAt] {
        self.by_name.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// What the type embeds of which nothing is known; `None` if it embeds no such thing.
    pub(super) fn unknown(&self) -> Option<String> {
        let named: Vec<&str> =
            self.unknown.iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
        match (self.unknown.is_empty(), named.is_empty()) {
            (true, _) => None,
            (false, true) => Some("something".to_owned()),
            (false, false) => Some(format!("`{}`", named.join("`, `"))),
        }
    }
}

/// The shape that all definitions of a method have.
fn common_shape(rows: &[DefinitionAt]) -> Option<Shape> {
    let mut shapes = rows.iter().map(|row| Shape::parse(row.signature.as_deref()?));
    let first = shapes.next()??;
    shapes.all(|shape| shape == Some(first)).then_some(first)
}

/// Methods by the type that has them.
pub(super) fn by_type(rows: Vec<DefinitionAt>) -> BTreeMap<TypeKey, Methods> {
    let mut types: BTreeMap<TypeKey, Methods> = BTreeMap::new();
    for row in rows {
        let Some(key) = TypeKey::of_method(&row) else { continue };
        let name = MethodName::new(&row.name, &key.folder);
        types.entry(key).or_default().by_name.entry(name).or_default().push(row);
    }
    types
}

/// Which way embedding is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Towards {
    /// To what types embed.
    Embedded,
    /// To what embeds types.
    Embedding,
}

/// Types, and which of them embed which.
#[derive(Debug, Default)]
pub(super) struct TypeGraph {
    /// The definitions of each: several where builds differ.
    pub(super) types: BTreeMap<TypeKey, Vec<DefinitionAt>>,
    embeds: BTreeMap<TypeKey, BTreeSet<TypeKey>>,
    /// What each type has itself.
    pub(super) own: BTreeMap<TypeKey, Methods>,
    /// Whether there may be more.
    pub(super) is_cut: bool,
}

impl TypeGraph {
    /// Follows embedding from some types.
    pub(super) async fn follow(
        navigator: &mut Navigator<'_>,
        start: &[DefinitionAt],
        towards: Towards,
    ) -> Result<Self, Fault> {
        let mut graph = Self::default();
        let mut keys: HashMap<i64, TypeKey> = HashMap::new();
        let mut frontier = start.to_vec();
        for level in 0..=LEVELS_MAX {
            let fresh: Vec<i64> = graph.add(&frontier, &mut keys);
            if fresh.is_empty() {
                return Ok(graph);
            }
            if level == LEVELS_MAX || graph.types.len() > TYPES_MAX {
                break;
            }
            let edges = edges(navigator, &frontier, &fresh, towards).await?;
            graph.is_cut |= is_full(edges.len(), EDGES_MAX);
            let other = |edge: &Edge| if towards == Towards::Embedded { edge.target } else { edge.source };
            let mut next: Vec<i64> =
                edges.iter().map(other).filter(|symbol| !keys.contains_key(symbol)).collect();
            next.sort_unstable();
            next.dedup();
            frontier = match next.is_empty() {
                true => Vec::new(),
                false => navigation::definitions_by_symbols(navigator.tx, &next).await?,
            };
            keys.extend(frontier.iter().filter_map(|row| Some((row.symbol?, TypeKey::of_type(row)))));
            for edge in &edges {
                if let (Some(from), Some(to)) = (keys.get(&edge.source), keys.get(&edge.target))
                    && from != to
                {
                    graph.embeds.entry(from.clone()).or_default().insert(to.clone());
                }
            }
        }
        graph.is_cut = true;
        Ok(graph)
    }

    /// Adds types, and returns their symbols.
    fn add(&mut self, types: &[DefinitionAt], keys: &mut HashMap<i64, TypeKey>) -> Vec<i64> {
        let mut symbols = Vec::with_capacity(types.len());
        for row in types {
            let Some(symbol) = row.symbol else { continue };
            let key = TypeKey::of_type(row);
            keys.insert(symbol, key.clone());
            self.types.entry(key).or_default().push(row.clone());
            symbols.push(symbol);
        }
        symbols
    }

    /// Whether a type is an interface.
    pub(super) fn is_interface(&self, key: &TypeKey) -> bool {
        self.types.get(key).is_some_and(|rows| rows.iter().any(|row| row.kind == INTERFACE))
    }

    /// Reads the methods that the types have themselves.
    pub(super) async fn read_methods(&mut self, navigator: &mut Navigator<'_>) -> Result<(), Fault> {
        // The methods of an interface stand in it, those of another type anywhere in the package.
        let interfaces = self.types.values().flatten().filter(|row| row.kind == INTERFACE);
        let mut files: Vec<i64> = interfaces.map(|row| row.file_id).collect();
        files.sort_unstable();
        files.dedup();
        let mut rows = match files.is_empty() {
            true => Vec::new(),
            false => method_sets::in_files(navigator.tx, &files, METHODS_MAX).await?,
        };
        self.is_cut |= is_full(rows.len(), METHODS_MAX);
        let mut packages: BTreeMap<(i64, String), Vec<String>> = BTreeMap::new();
        for (key, definitions) in &self.types {
            if let Some(first) = definitions.first().filter(|_| !self.is_interface(key)) {
                let folder = if key.folder.is_empty() { String::new() } else { format!("{}/", key.folder) };
                packages.entry((first.repository_id, folder)).or_default().push(key.name.clone());
            }
        }
        self.is_cut |= packages.len() > PACKAGES_MAX;
        for ((repository_id, folder), names) in packages.into_iter().take(PACKAGES_MAX) {
            let package = Package { repository_id, language: GO, folder: &folder };
            let found = method_sets::of_types(navigator.tx, package, &names, METHODS_MAX).await?;
            self.is_cut |= is_full(found.len(), METHODS_MAX);
            rows.extend(found);
        }
        // The file of an interface also has methods of the other types.
        let place = |row: &DefinitionAt| (row.file_id, row.line, row.column);
        rows.sort_by_key(place);
        rows.dedup_by_key(|row| place(row));
        self.own = by_type(rows);
        self.own.retain(|key, _| self.types.contains_key(key));
        Ok(())
    }

    /// Reads what the types embed, and notes with each what is not among the types of the graph.
    pub(super) async fn note_unknown(&mut self, navigator: &mut Navigator<'_>) -> Result<(), Fault> {
        let of_kind = |row: &&DefinitionAt| matches!(row.kind.as_str(), INTERFACE | STRUCT);
        let mut wanted: Vec<(TypeKey, i64, Place)> = Vec::new();
        for (key, rows) in &self.types {
            let place = |row: &DefinitionAt| Place { line: line(row.line), column: line(row.column) };
            let rows = rows.iter().filter(of_kind);
            wanted.extend(rows.map(|row| (key.clone(), row.file_id, place(row))));
        }
        let mut files: Vec<i64> = wanted.iter().map(|(_, file, _)| *file).collect();
        files.sort_unstable();
        files.dedup();
        self.is_cut |= files.len() > FILES_MAX;
        files.truncate(FILES_MAX);
        let interfaces = symbols::interfaces_of(navigator.tx, &files).await?;
        let reading = tokio::task::spawn_blocking(move || embedded_types(wanted, &interfaces));
        let found =
            reading.await.map_err(|error| Fault::internal("Reading symbols failed unexpectedly.", error))?;
        for (key, names) in found {
            self.note_embedded(&key, names);
        }
        Ok(())
    }

    fn note_embedded(&mut self, key: &TypeKey, names: Option<Vec<String>>) {
        let is_interface = self.is_interface(key);
        // An interface also embeds other names of interfaces, whose methods are not known by that name.
        let is_known = |to: &&TypeKey| !is_interface || self.is_interface(to);
        let known: BTreeSet<String> = self
            .embeds
            .get(key)
            .into_iter()
            .flatten()
            .filter(is_known)
            .map(|to| to.simple().to_owned())
            .collect();
        let methods = self.own.entry(key.clone()).or_default();
        let Some(names) = names else {
            // Types inside of functions are not shown; what an interface demands has to be known.
            methods.unknown.extend(is_interface.then(String::new));
            return;
        };
        for name in names {
            match name.as_str() {
                "error" => methods.is_error = true,
                // They have no methods.
                "any" | "comparable" => {}
                _ if known.contains(simple(&name)) => {}
                _ => {
                    methods.unknown.insert(name);
                }
            }
        }
    }

    /// The methods of a type, with those of what it embeds: of one name, those that are the fewest steps away. If several types that
    /// are equally far away have the name, it is that of no method, but not in interfaces, which may repeat what they demand.
    pub(super) fn methods(&self, key: &TypeKey) -> Methods {
        let is_interface = self.is_interface(key);
        let mut all = Methods::default();
        let mut seen: BTreeSet<&TypeKey> = BTreeSet::from([key]);
        let mut level = vec![key];
        while !level.is_empty() {
            let mut found: BTreeMap<&MethodName, Vec<&Vec<DefinitionAt>>> = BTreeMap::new();
            for own in level.iter().filter_map(|key| self.own.get(*key)) {
                all.unknown.extend(own.unknown.iter().cloned());
                all.is_error |= own.is_error;
                for (name, rows) in own.by_name.iter().filter(|(name, _)| !all.by_name.contains_key(*name)) {
                    found.entry(name).or_default().push(rows);
                }
            }
            for (name, several) in found {
                let is_hidden = several.len() > 1 && !is_interface;
                let rows = several.into_iter().filter(|_| !is_hidden).flatten().cloned().collect();
                all.by_name.insert(name.clone(), rows);
            }
            let next = level.iter().filter_map(|key| self.embeds.get(*key)).flatten();
            level = next.filter(|key| seen.insert(*key)).collect();
        }
        all
    }
}

/// Whether as many rows were read as may be.
pub(super) fn is_full(rows: usize, limit: i64) -> bool {
    i64::try_from(rows).unwrap_or(i64::MAX) >= limit
}

async fn edges(
    navigator: &mut Navigator<'_>,
    types: &[DefinitionAt],
    symbols: &[i64],
    towards: Towards,
) -> Result<Vec<Edge>, Fault> {
    let wanted =
        WantedEdges { kinds: UsedFor::Inherit.bit(), certainty: Certainty::Resolved, limit: EDGES_MAX };
    match towards {
        Towards::Embedding => use_places::edges_to(navigator.tx, symbols, wanted).await,
        Towards::Embedded => {
            let mut files: Vec<i64> = types.iter().map(|row| row.file_id).collect();
            files.sort_unstable();
            files.dedup();
            use_places::edges_from(navigator.tx, &files, symbols, wanted).await
        }
    }
}

/// What types embed, as it is written; `None` for a type that its file does not show.
fn embedded_types(
    types: Vec<(TypeKey, i64, Place)>,
    interfaces: &[(i64, Vec<u8>)],
) -> Vec<(TypeKey, Option<Vec<String>>)> {
    let read: HashMap<i64, Interface> =
        interfaces.iter().map(|(file, bytes)| (*file, read_interface(bytes))).collect();
    let found = |(key, file, place): (TypeKey, i64, Place)| {
        let names = read.get(&file).and_then(|interface| embedded(interface, place));
        (key, names)
    };
    types.into_iter().map(found).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn method(path: &str, qualified: &str) -> DefinitionAt {
        let name = simple(qualified).to_owned();
        let signature = Some(format!("{name}()"));
        DefinitionAt {
            path: path.to_owned(),
            name,
            qualified: qualified.to_owned(),
            signature,
            ..DefinitionAt::default()
        }
    }

    fn key(name: &str) -> TypeKey {
        TypeKey { folder: "a".to_owned(), name: name.to_owned() }
    }

    fn graph(methods: &[&str], embeds: &[(&str, &str)]) -> TypeGraph {
        let own = by_type(methods.iter().map(|name| method("a/b.go", name)).collect());
        let mut graph = TypeGraph { own, ..TypeGraph::default() };
        for (from, to) in embeds {
            graph.embeds.entry(key(from)).or_default().insert(key(to));
        }
        graph
    }

    fn names(graph: &TypeGraph, of: &str) -> Vec<String> {
        graph.methods(&key(of)).set().methods.keys().map(|name| name.as_str().to_owned()).collect()
    }

    #[test]
    fn a_type_has_the_nearest_methods_of_what_it_embeds() {
        let embeds = [("Top", "Left"), ("Top", "Right"), ("Left", "Deep"), ("Deep", "Top")];
        let methods = ["Top.Own", "Left.One", "Left.Same", "Right.Same", "Deep.One", "Deep.Far"];
        let graph = graph(&methods, &embeds);
        // `Same` is that of two types at the same distance, and a circle ends.
        assert_eq!(names(&graph, "Top"), ["Far", "One", "Own"]);
        assert_eq!(
            graph.methods(&key("Top")).definitions(&MethodName::new("One", "a"))[0].qualified,
            "Left.One"
        );
        assert_eq!(names(&graph, "Right"), ["Same"]);
    }

    #[test]
    fn what_is_embedded_from_elsewhere_is_noted() {
        let mut graph = graph(&["Body.Close"], &[("Body", "Reader")]);
        let interface = DefinitionAt { kind: INTERFACE.to_owned(), ..DefinitionAt::default() };
        for name in ["Body", "Reader"] {
            graph.types.insert(key(name), vec![interface.clone()]);
        }
        graph.note_embedded(&key("Body"), Some(["own.Reader", "error"].map(str::to_owned).to_vec()));
        let methods = graph.methods(&key("Body"));
        assert_eq!(methods.unknown(), None);
        assert!(methods.set().is_complete);
        assert_eq!(names(&graph, "Body"), ["Close", "Error"]);
        graph.note_embedded(&key("Reader"), Some(vec!["io.Reader".to_owned()]));
        assert_eq!(graph.methods(&key("Body")).unknown().as_deref(), Some("`io.Reader`"));
        graph.note_embedded(&key("Reader"), None);
        assert!(!graph.methods(&key("Reader")).set().is_complete);
    }
}
