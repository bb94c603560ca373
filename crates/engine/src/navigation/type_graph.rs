//! Types of Go with their methods and embedded types: a type has the methods of the types that it embeds.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::navigator::{Navigator, line};
use crate::indexing::read_interface;
use ::navigation::method_sets::{MethodName, MethodSet, Shape, embedded};
use contract::Fault;
use languages::symbols::Place;
use store::method_sets::{self, Package};
use store::navigation::{self, DefinitionAt};
use store::symbols;
use store::use_places::{self, Edge, WantedEdges};
use store::uses::{Certainty, UsedFor};

/// Language of the graph.
pub(super) const GO: &str = "go";
/// Kind of interfaces.
pub(super) const INTERFACE: &str = "interface";
/// Kind of types that embed others beside their fields.
const STRUCT: &str = "struct";
/// Kinds of types that can have methods.
pub(super) const KINDS: [&str; 3] = [STRUCT, INTERFACE, "type"];
/// The method of the interface `error`, which the language itself defines, and its shape.
const ERROR: (&str, Shape) = ("Error", Shape { parameters: 0, results: 1 });

/// Maximum number of steps from an embedding type to an embedded one.
const LEVELS_MAX: usize = 8;
/// Maximum number of types of one graph, where several definitions of one type count as several.
pub(super) const TYPES_MAX: usize = 2000;
/// Maximum number of types, embedded types and definitions of methods that are examined to compare the types of one question.
pub(super) const LOOKS_MAX: usize = 500_000;
/// Maximum number of edges that are read for one step.
const EDGES_MAX: i64 = 10_000;
/// Maximum number of methods that are read at once.
pub(super) const METHODS_MAX: i64 = 20_000;
/// Maximum number of packages whose methods are read.
const PACKAGES_MAX: usize = 64;
/// Maximum number of files whose types' embedded types are read.
const FILES_MAX: usize = 500;
/// Files whose symbols are read together.
const PAGE_FILES: usize = 16;

/// A type by its package and its name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct TypeKey {
    /// The folder of the package.
    pub(super) folder: String,
    /// The qualified name.
    pub(super) name: String,
}

impl TypeKey {
    /// Returns the key of a type that is defined.
    pub(super) fn of_type(row: &DefinitionAt) -> Self {
        Self { folder: folder(row).to_owned(), name: row.qualified.clone() }
    }

    /// Returns the key of the type that has a method.
    pub(super) fn of_method(row: &DefinitionAt) -> Option<Self> {
        let name = languages::container(&row.name, &row.qualified)?.to_owned();
        Some(Self { folder: folder(row).to_owned(), name })
    }

    /// Returns the name without those of functions around it.
    pub(super) fn simple(&self) -> &str {
        simple(&self.name)
    }
}

fn folder(row: &DefinitionAt) -> &str {
    row.path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Returns the last part of a name.
fn simple(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// The methods and embedded types of a type itself.
#[derive(Debug, Default)]
pub(super) struct Own {
    /// The definitions of each method: several where builds differ.
    by_name: BTreeMap<MethodName, Vec<DefinitionAt>>,
    /// Embedded types that are unknown, as written; an empty text for one that was not read, or has no name.
    unknown: BTreeSet<String>,
    /// `true` if it embeds `error`.
    is_error: bool,
}

impl Own {
    /// Returns the number of methods.
    pub(super) fn count(&self) -> usize {
        self.by_name.len()
    }
}

/// The methods of a type, with those of its embedded types.
#[derive(Debug, Default)]
pub(super) struct Methods<'g> {
    /// The definitions of each method: several where builds differ, none where several embedded types hide each other's.
    by_name: BTreeMap<&'g MethodName, Vec<&'g DefinitionAt>>,
    /// Embedded types that are unknown, as in [`Own`].
    unknown: BTreeSet<&'g str>,
    /// `true` if `error` is embedded.
    is_error: bool,
    /// Number of types, and of definitions of methods, that were examined.
    pub(super) looks: usize,
}

impl<'g> Methods<'g> {
    /// Returns the names and shapes of the methods.
    pub(super) fn set(&self) -> MethodSet {
        let known = self.by_name.iter().filter(|(_, rows)| !rows.is_empty());
        let mut methods: BTreeMap<MethodName, Option<Shape>> =
            known.map(|(name, rows)| ((*name).clone(), common_shape(rows))).collect();
        if self.is_error {
            methods.insert(MethodName::new(ERROR.0, ""), Some(ERROR.1));
        }
        MethodSet { methods, is_complete: self.unknown.is_empty() }
    }

    /// Returns the definitions of the method of a name.
    pub(super) fn definitions(&self, name: &MethodName) -> &[&'g DefinitionAt] {
        self.by_name.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the embedded types that are unknown; `None` if there are none.
    pub(super) fn unknown(&self) -> Option<String> {
        let named: Vec<&str> = self.unknown.iter().copied().filter(|name| !name.is_empty()).collect();
        match (self.unknown.is_empty(), named.is_empty()) {
            (true, _) => None,
            (false, true) => Some("something".to_owned()),
            (false, false) => Some(format!("`{}`", named.join("`, `"))),
        }
    }
}

/// Returns the shape that all definitions of a method have.
fn common_shape(rows: &[&DefinitionAt]) -> Option<Shape> {
    let mut shapes = rows.iter().map(|row| Shape::parse(row.signature.as_deref()?));
    let first = shapes.next()??;
    shapes.all(|shape| shape == Some(first)).then_some(first)
}

/// Groups methods by the type that has them.
pub(super) fn by_type(rows: Vec<DefinitionAt>) -> BTreeMap<TypeKey, Own> {
    let mut types: BTreeMap<TypeKey, Own> = BTreeMap::new();
    for row in rows {
        let Some(key) = TypeKey::of_method(&row) else { continue };
        let name = MethodName::new(&row.name, &key.folder);
        types.entry(key).or_default().by_name.entry(name).or_default().push(row);
    }
    types
}

/// Direction in which embedding is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Towards {
    /// To the embedded types.
    Embedded,
    /// To the types that embed them.
    Embedding,
}

/// Types with the edges of embedding between them.
#[derive(Debug, Default)]
pub(super) struct TypeGraph {
    /// The definitions of each type: several where builds differ.
    pub(super) types: BTreeMap<TypeKey, Vec<DefinitionAt>>,
    embeds: BTreeMap<TypeKey, BTreeSet<TypeKey>>,
    /// The own methods and embedded types of each type.
    pub(super) own: BTreeMap<TypeKey, Own>,
    /// `true` if there may be more.
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
        let mut added = graph.add(start, &mut keys);
        for _ in 0..LEVELS_MAX {
            if added.is_empty() {
                return Ok(graph);
            }
            let edges = edges(navigator, &added, towards).await?;
            graph.is_cut |= is_full(edges.len(), EDGES_MAX);
            let other = |edge: &Edge| if towards == Towards::Embedded { edge.target } else { edge.source };
            let mut next: Vec<i64> =
                edges.iter().map(other).filter(|symbol| !keys.contains_key(symbol)).collect();
            next.sort_unstable();
            next.dedup();
            let types = match next.is_empty() {
                true => Vec::new(),
                false => navigation::definitions_by_symbols(navigator.tx, &next).await?,
            };
            added = graph.add(&types, &mut keys);
            for edge in &edges {
                if let (Some(from), Some(to)) = (keys.get(&edge.source), keys.get(&edge.target))
                    && from != to
                {
                    graph.embeds.entry(from.clone()).or_default().insert(to.clone());
                }
            }
        }
        graph.is_cut |= !added.is_empty();
        Ok(graph)
    }

    /// Adds types as long as there is room, and returns the symbol and the file of each that was added.
    fn add(&mut self, types: &[DefinitionAt], keys: &mut HashMap<i64, TypeKey>) -> Vec<(i64, i64)> {
        let mut added = Vec::new();
        for row in types {
            let Some(symbol) = row.symbol else { continue };
            if keys.len() >= TYPES_MAX {
                self.is_cut = true;
                break;
            }
            let key = TypeKey::of_type(row);
            keys.insert(symbol, key.clone());
            self.types.entry(key).or_default().push(row.clone());
            added.push((symbol, row.file_id));
        }
        added
    }

    /// Returns whether a type is an interface.
    pub(super) fn is_interface(&self, key: &TypeKey) -> bool {
        self.types.get(key).is_some_and(|rows| rows.iter().any(|row| row.kind == INTERFACE))
    }

    /// Reads the methods that the types have themselves.
    pub(super) async fn read_methods(&mut self, navigator: &mut Navigator<'_>) -> Result<(), Fault> {
        // The methods of an interface are inside it, those of another type anywhere in the package.
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
        let mut left = METHODS_MAX;
        for ((repository_id, folder), names) in packages.into_iter().take(PACKAGES_MAX) {
            let package = Package { repository_id, language: GO, folder: &folder };
            let found = method_sets::of_types(navigator.tx, package, &names, left).await?;
            left = left.saturating_sub(i64::try_from(found.len()).unwrap_or(i64::MAX));
            rows.extend(found);
            if left <= 0 {
                self.is_cut = true;
                break;
            }
        }
        // The file of an interface also has methods of the other types.
        let place = |row: &DefinitionAt| (row.file_id, row.line, row.column);
        rows.sort_by_key(place);
        rows.dedup_by_key(|row| place(row));
        self.own = by_type(rows);
        self.own.retain(|key, _| self.types.contains_key(key));
        Ok(())
    }

    /// Reads the embedded types of all types, and records those that are not among the types of the graph.
    pub(super) async fn note_unknown(&mut self, navigator: &mut Navigator<'_>) -> Result<(), Fault> {
        let mut wanted: BTreeMap<i64, Vec<(TypeKey, Place)>> = BTreeMap::new();
        for (key, rows) in &self.types {
            for row in rows.iter().filter(|row| matches!(row.kind.as_str(), INTERFACE | STRUCT)) {
                let place = Place { line: line(row.line), column: line(row.column) };
                wanted.entry(row.file_id).or_default().push((key.clone(), place));
            }
        }
        let files: Vec<i64> = wanted.keys().copied().take(FILES_MAX).collect();
        self.is_cut |= wanted.len() > FILES_MAX;
        for page in files.chunks(PAGE_FILES) {
            let of_page = page.iter().filter_map(|file| Some((*file, wanted.remove(file)?))).collect();
            let interfaces = symbols::interfaces_of(navigator.tx, page).await?;
            let reading = platform::task::spawn_blocking(move || embedded_types(of_page, interfaces));
            let found = reading
                .await
                .map_err(|error| Fault::internal("Reading symbols failed unexpectedly.", error))?;
            for (key, names) in found {
                self.note_embedded(&key, names);
            }
        }
        // Nothing is read of these types.
        for (key, _) in wanted.into_values().flatten() {
            self.note_embedded(&key, None);
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
            // Types inside of functions are not shown; the methods that an interface demands have to be known.
            methods.unknown.extend(is_interface.then(String::new));
            return;
        };
        for name in names {
            match name.as_str() {
                "error" => methods.is_error = true,
                // It demands nothing. `comparable` has no methods either, but not every type is.
                "any" => {}
                _ if known.contains(simple(&name)) => {}
                _ => {
                    methods.unknown.insert(name);
                }
            }
        }
    }

    /// Returns the methods of a type, with those of its embedded types: of one name, those that are the fewest steps away. If several types
    /// that are equally far away have the name, it is not that of a method, except in interfaces, which may repeat demanded methods.
    pub(super) fn methods(&self, key: &TypeKey) -> Methods<'_> {
        let is_interface = self.is_interface(key);
        let mut all = Methods::default();
        let mut seen: BTreeSet<&TypeKey> = BTreeSet::from([key]);
        let mut level = vec![key];
        while !level.is_empty() {
            all.looks += level.len();
            let mut found: BTreeMap<&MethodName, Vec<&[DefinitionAt]>> = BTreeMap::new();
            for own in level.iter().filter_map(|key| self.own.get(*key)) {
                all.looks += own.unknown.len();
                all.unknown.extend(own.unknown.iter().map(String::as_str));
                all.is_error |= own.is_error;
                for (name, rows) in &own.by_name {
                    all.looks += rows.len();
                    if !all.by_name.contains_key(name) {
                        found.entry(name).or_default().push(rows);
                    }
                }
            }
            for (name, several) in found {
                let is_hidden = several.len() > 1 && !is_interface;
                let rows = several.into_iter().filter(|_| !is_hidden).flatten().collect();
                all.by_name.insert(name, rows);
            }
            let next = level.iter().filter_map(|key| self.embeds.get(*key)).flatten();
            level = next.inspect(|_| all.looks += 1).filter(|key| seen.insert(*key)).collect();
        }
        all
    }
}

/// Returns whether the number of read rows is at the limit.
pub(super) fn is_full(rows: usize, limit: i64) -> bool {
    i64::try_from(rows).unwrap_or(i64::MAX) >= limit
}

/// Returns the edges of embedding to or from some types, given by their symbols and files.
async fn edges(
    navigator: &mut Navigator<'_>,
    types: &[(i64, i64)],
    towards: Towards,
) -> Result<Vec<Edge>, Fault> {
    let wanted =
        WantedEdges { kinds: UsedFor::Inherit.bit(), certainty: Certainty::Resolved, limit: EDGES_MAX };
    let (symbols, mut files): (Vec<i64>, Vec<i64>) = types.iter().copied().unzip();
    match towards {
        Towards::Embedding => use_places::edges_to(navigator.tx, &symbols, wanted).await,
        Towards::Embedded => {
            files.sort_unstable();
            files.dedup();
            use_places::edges_from(navigator.tx, &files, &symbols, wanted).await
        }
    }
}

/// Returns the embedded types, as written, of types whose names are at places of files; `None` for a type that its file does not show. One
/// file at a time is decoded.
fn embedded_types(
    mut wanted: BTreeMap<i64, Vec<(TypeKey, Place)>>,
    interfaces: Vec<(i64, Vec<u8>)>,
) -> Vec<(TypeKey, Option<Vec<String>>)> {
    let mut found = Vec::new();
    for (file, bytes) in interfaces {
        let Some(types) = wanted.remove(&file) else { continue };
        let interface = read_interface(&bytes);
        for (key, place) in types {
            found.push((key, embedded(&interface, place)));
        }
    }
    // Nothing is stored of these files.
    found.extend(wanted.into_values().flatten().map(|(key, _)| (key, None)));
    found
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
        // Four types, six methods and four edges.
        assert_eq!(graph.methods(&key("Top")).looks, 14);
    }

    #[test]
    fn a_graph_has_room_for_a_number_of_types() {
        let (mut graph, mut keys) = (TypeGraph::default(), HashMap::new());
        let types: Vec<DefinitionAt> = (0_i64..)
            .take(TYPES_MAX + 1)
            .map(|symbol| DefinitionAt { symbol: Some(symbol), ..method("a/b.go", &format!("T{symbol}")) })
            .collect();
        assert_eq!(graph.add(&types[..TYPES_MAX], &mut keys).len(), TYPES_MAX);
        assert!(!graph.is_cut);
        assert!(graph.add(&types[TYPES_MAX..], &mut keys).is_empty());
        assert!(graph.is_cut && graph.types.len() == TYPES_MAX);
    }

    #[test]
    fn unknown_embedded_types_are_recorded() {
        let mut graph = graph(&["Body.Close"], &[("Body", "Reader")]);
        let interface = DefinitionAt { kind: INTERFACE.to_owned(), ..DefinitionAt::default() };
        for name in ["Body", "Reader"] {
            graph.types.insert(key(name), vec![interface.clone()]);
        }
        graph.note_embedded(&key("Body"), Some(["own.Reader", "error"].map(str::to_owned).to_vec()));
        assert_eq!(graph.methods(&key("Body")).unknown(), None);
        assert!(graph.methods(&key("Body")).set().is_complete);
        assert_eq!(names(&graph, "Body"), ["Close", "Error"]);
        graph.note_embedded(&key("Reader"), Some(vec!["io.Reader".to_owned()]));
        assert_eq!(graph.methods(&key("Body")).unknown().as_deref(), Some("`io.Reader`"));
        graph.note_embedded(&key("Reader"), None);
        assert!(!graph.methods(&key("Reader")).set().is_complete);
        // Not every type is comparable.
        graph.note_embedded(&key("Sorted"), Some(vec!["any".to_owned()]));
        assert_eq!(graph.methods(&key("Sorted")).unknown(), None);
        graph.note_embedded(&key("Sorted"), Some(vec!["comparable".to_owned()]));
        assert_eq!(graph.methods(&key("Sorted")).unknown().as_deref(), Some("`comparable`"));
    }
}
