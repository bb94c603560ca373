//! Writes the definitions of a repository and the uses between them as a SCIP file, one document at a time.
//!
//! Symbols are called `pairofcleats . <repository> . <path>/<containers><name>`, with each part of the path as a namespace. The names of
//! all definitions of the repository are in memory, about 150 bytes each, since a use in one file names a definition in any other.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use navigation::is_in_identifier;
use navigation::scip::{
    Descriptor, DescriptorKind, Document, Metadata, Occurrence, Position, PositionEncoding, Range,
    Relationship, Roles, Symbol, SymbolInformation, SymbolKind, Writer,
};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::disk::disk_fault;
use crate::partial_file::PartialFile;
use contract::{ErrorCode, Fault, TOOLING_VERSION};
use platform::task::blocking;
use store::graph::{self, GraphDefinition, GraphFile, GraphUse};
use store::{
    Access, ChunkSelection, ChunkText, GramQuery, Project, ProjectTx, RepositoryRow, Store, UsedFor, grams,
};

/// Files that are read in one statement.
const PAGE_FILES: i64 = 200;
/// The scheme of our symbols, and the name of the tool.
const SCHEME: &str = "pairofcleats";

/// The result of an export.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ScipExport {
    /// The repository.
    pub repository: String,
    /// Number of documents.
    pub documents: u64,
    /// Number of definitions.
    pub definitions: u64,
    /// Number of uses.
    pub uses: u64,
    /// Bytes of the file.
    pub bytes: u64,
}

/// Writes the definitions and uses of a repository into `file`, which must not exist. A failed export leaves no file.
///
/// # Errors
/// `INVALID_REQUEST` when the file exists; `PERMISSION_DENIED` and `INTERNAL` for file system errors, `STORAGE_UNAVAILABLE` when the
/// disk is full; `CANCELLED`; storage faults.
pub async fn export_scip(
    store: &Store,
    project: &Project,
    repository: &RepositoryRow,
    file: &Path,
    cancel: &CancellationToken,
) -> Result<ScipExport, Fault> {
    if file.exists() {
        return Err(Fault::new(ErrorCode::InvalidRequest, format!("{} already exists.", file.display()))
            .with_hint("Give the name of a new file."));
    }
    let failed = |error| disk_fault("write the SCIP file", error);
    let partial = PartialFile::beside(file);
    let path = partial.path().to_owned();
    let mut writer = blocking(move || {
        let file = BufWriter::new(File::create(&path).map_err(failed)?);
        Writer::new(file, &metadata()).map_err(failed)
    })
    .await?;
    let mut tx = ProjectTx::begin(store, project, Access::Snapshot).await?;
    let mut done = ScipExport { repository: repository.name.clone(), ..ScipExport::default() };
    let names = read_names(&mut tx, repository, cancel).await?;
    let mut after = String::new();
    loop {
        check_cancelled(cancel)?;
        let files = graph::graph_files(&mut tx, repository.id, &after, PAGE_FILES).await?;
        let Some(last) = files.last() else { break };
        after.clone_from(&last.path);
        let ids: Vec<i64> = files.iter().map(|file| file.id).collect();
        let definitions = graph::graph_definitions(&mut tx, &ids).await?;
        let uses = graph::graph_uses(&mut tx, &ids).await?;
        let texts =
            grams::texts_of_files(&mut tx, &ids, &ChunkSelection::All, &GramQuery::EVERYTHING).await?;
        let lines = Lines::new(&texts);
        for file in &files {
            let document = FileGraph::new(file, (&definitions, &uses), &names, &lines);
            done.documents += 1;
            done.definitions += document.definitions.len() as u64;
            done.uses += document.uses.iter().map(|one| one.places.len() as u64).sum::<u64>();
            // A buffered write of one document; pages are read in between.
            writer.document(&document.to_document()).map_err(failed)?;
        }
    }
    tx.commit().await?;
    let target = file.to_owned();
    done.bytes = blocking(move || {
        let file = writer.finish().map_err(failed)?.into_inner();
        let file = file.map_err(|error| failed(error.into_error()))?;
        file.sync_all().map_err(failed)?;
        partial.rename_to(&target).map_err(failed)?;
        Ok(file.metadata().map_err(failed)?.len())
    })
    .await?;
    Ok(done)
}

fn metadata() -> Metadata {
    Metadata {
        tool: SCHEME.to_owned(),
        tool_version: TOOLING_VERSION.to_owned(),
        // The field is required; our indexes do not reveal where the repository is.
        project_root: "file:///".to_owned(),
    }
}

fn check_cancelled(cancel: &CancellationToken) -> Result<(), Fault> {
    if cancel.is_cancelled() {
        return Err(Fault::new(ErrorCode::Cancelled, "The export was stopped; no file was left."));
    }
    Ok(())
}

/// A definition, as others refer to it.
struct Named {
    symbol: String,
    /// Characters of its simple name.
    length: u32,
}

/// Reads the names of all definitions of a repository, by their ids.
async fn read_names(
    tx: &mut ProjectTx,
    repository: &RepositoryRow,
    cancel: &CancellationToken,
) -> Result<HashMap<i64, Named>, Fault> {
    let mut names = HashMap::new();
    let mut after = String::new();
    loop {
        check_cancelled(cancel)?;
        let files = graph::graph_files(tx, repository.id, &after, PAGE_FILES).await?;
        let Some(last) = files.last() else { return Ok(names) };
        after.clone_from(&last.path);
        let ids: Vec<i64> = files.iter().map(|file| file.id).collect();
        let definitions = graph::graph_definitions(tx, &ids).await?;
        for file in &files {
            let own: Vec<&GraphDefinition> =
                definitions.iter().filter(|definition| definition.file_id == file.id).collect();
            names.extend(names_of_file(&repository.name, &file.path, &own));
        }
    }
}

/// Returns the symbols of a file's definitions.
fn names_of_file(repository: &str, path: &str, definitions: &[&GraphDefinition]) -> Vec<(i64, Named)> {
    let folders = path.split('/').map(|part| Descriptor::new(part.to_owned(), DescriptorKind::Namespace));
    let folders: Vec<Descriptor> = folders.collect();
    let by_name: HashMap<&str, &GraphDefinition> =
        definitions.iter().map(|one| (one.qualified.as_str(), *one)).collect();
    let mut equals: HashMap<&str, u32> = HashMap::new();
    let named = definitions.iter().map(|definition| {
        let mut descriptors = folders.clone();
        descriptors.extend(containers(definition, &by_name));
        let ordinal = equals.entry(definition.qualified.as_str()).or_default();
        let mut own = Descriptor::new(definition.name.clone(), descriptor_kind(&definition.kind));
        if own.kind == DescriptorKind::Method && *ordinal > 0 {
            own.disambiguator = format!("+{ordinal}");
        }
        *ordinal += 1;
        descriptors.push(own);
        let symbol = Symbol::Global {
            scheme: SCHEME.to_owned(),
            manager: String::new(),
            package: repository.to_owned(),
            version: String::new(),
            descriptors,
        };
        let length = definition.name.chars().count();
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        (definition.symbol, Named { symbol: symbol.to_string(), length })
    });
    named.collect()
}

/// Maximum number of definitions that enclose one.
const CONTAINERS_MAX: usize = 64;

/// Returns the containers of a definition, the outermost first. A container that the file does not define itself, such as a type that it
/// adds methods to, becomes one type.
fn containers(definition: &GraphDefinition, by_name: &HashMap<&str, &GraphDefinition>) -> Vec<Descriptor> {
    let mut found = Vec::new();
    let (mut name, mut qualified) = (definition.name.as_str(), definition.qualified.as_str());
    while let Some(outer) = languages::container(name, qualified).filter(|_| found.len() < CONTAINERS_MAX) {
        let Some(container) = by_name.get(outer) else {
            found.push(Descriptor::new(outer.to_owned(), DescriptorKind::Type));
            break;
        };
        found.push(Descriptor::new(container.name.clone(), descriptor_kind(&container.kind)));
        (name, qualified) = (container.name.as_str(), container.qualified.as_str());
    }
    found.reverse();
    found
}

fn descriptor_kind(kind: &str) -> DescriptorKind {
    match kind {
        "function" | "method" => DescriptorKind::Method,
        "class" | "struct" | "interface" | "trait" | "enum" | "type" | "impl" => DescriptorKind::Type,
        "module" => DescriptorKind::Namespace,
        _ => DescriptorKind::Term,
    }
}

fn symbol_kind(kind: &str) -> SymbolKind {
    match kind {
        "function" => SymbolKind::FUNCTION,
        "method" => SymbolKind::METHOD,
        "class" => SymbolKind::CLASS,
        "struct" => SymbolKind::STRUCT,
        "interface" => SymbolKind::INTERFACE,
        "trait" => SymbolKind::TRAIT,
        "enum" => SymbolKind::ENUM,
        "type" => SymbolKind::TYPE,
        "module" => SymbolKind::MODULE,
        "variable" => SymbolKind::VARIABLE,
        _ => SymbolKind::default(),
    }
}

/// The definitions and uses of one file.
struct FileGraph<'g> {
    file: &'g GraphFile,
    definitions: Vec<(&'g GraphDefinition, &'g Named)>,
    uses: Vec<&'g GraphUse>,
    names: &'g HashMap<i64, Named>,
    lines: &'g Lines<'g>,
}

/// The lines of files.
struct Lines<'t>(HashMap<(i64, u32), &'t str>);

impl<'t> Lines<'t> {
    fn new(texts: &'t [ChunkText]) -> Self {
        let lines = texts.iter().flat_map(|text| {
            let first = u32::try_from(text.start_line).unwrap_or(1);
            (first..).zip(text.content.lines()).map(|(line, written)| ((text.file_id, line), written))
        });
        Self(lines.collect())
    }

    /// Counts the characters of the identifier at a place, which an import may have renamed.
    fn length_at(&self, file: i64, line: u32, column: u32) -> Option<u32> {
        let written = self.0.get(&(file, line))?;
        let rest = written.chars().skip(column.saturating_sub(1) as usize);
        let length = rest.take_while(|c| is_in_identifier(*c)).count();
        u32::try_from(length).ok().filter(|length| *length > 0)
    }
}

impl<'g> FileGraph<'g> {
    fn new(
        file: &'g GraphFile,
        (definitions, uses): (&'g [GraphDefinition], &'g [GraphUse]),
        names: &'g HashMap<i64, Named>,
        lines: &'g Lines<'g>,
    ) -> Self {
        let own = definitions.iter().filter(|one| one.file_id == file.id);
        let definitions = own.filter_map(|one| Some((one, names.get(&one.symbol)?))).collect();
        let uses = uses.iter().filter(|one| one.file_id == file.id).collect();
        Self { file, definitions, uses, names, lines }
    }

    fn to_document(&self) -> Document<'g> {
        let mut occurrences: Vec<Occurrence<'g>> =
            self.definitions.iter().map(definition_occurrence).collect();
        for used in &self.uses {
            let Some(target) = self.names.get(&used.target) else { continue };
            // Overriding is a relationship between symbols, not a use.
            let places = used.places.iter().filter(|place| place.kind != UsedFor::Override);
            occurrences.extend(places.map(|place| Occurrence {
                range: name_range(
                    place.line,
                    place.column,
                    self.lines.length_at(self.file.id, place.line, place.column).unwrap_or(target.length),
                ),
                symbol: &target.symbol,
                roles: match place.kind {
                    UsedFor::Import => Roles::IMPORT,
                    UsedFor::Write => Roles::WRITE,
                    _ => Roles::READ,
                },
                enclosing_range: None,
            }));
        }
        occurrences.sort_by_key(|one| (one.range, one.symbol, one.roles.0));
        occurrences.dedup();
        Document {
            path: &self.file.path,
            language: self.file.language.as_deref().unwrap_or_default(),
            encoding: PositionEncoding::Utf32,
            text: "",
            occurrences,
            symbols: self.symbols(),
        }
    }

    /// Returns the information on each symbol; several definitions of one name are one symbol.
    fn symbols(&self) -> Vec<SymbolInformation<'g>> {
        let mut related: BTreeMap<i64, Vec<&'g str>> = BTreeMap::new();
        for used in &self.uses {
            let implements = |kind| matches!(kind, UsedFor::Override | UsedFor::Inherit);
            let target = self.names.get(&used.target);
            if let Some(target) = target.filter(|_| used.places.iter().any(|place| implements(place.kind))) {
                related.entry(used.source).or_default().push(&target.symbol);
            }
        }
        let mut seen = HashSet::new();
        let mut symbols = Vec::new();
        for (definition, named) in &self.definitions {
            if !seen.insert(named.symbol.as_str()) {
                continue;
            }
            let mut bases = related.remove(&definition.symbol).unwrap_or_default();
            bases.sort_unstable();
            bases.dedup();
            let relationship =
                |symbol| Relationship { symbol, is_implementation: true, ..Relationship::default() };
            symbols.push(SymbolInformation {
                symbol: &named.symbol,
                kind: symbol_kind(&definition.kind),
                display_name: &definition.name,
                enclosing_symbol: "",
                relationships: bases.into_iter().map(relationship).collect(),
            });
        }
        symbols.sort_by_key(|one| one.symbol);
        symbols
    }
}

fn definition_occurrence<'g>((definition, named): &(&'g GraphDefinition, &'g Named)) -> Occurrence<'g> {
    let at = |number: i32| u32::try_from(number).unwrap_or_default();
    let range = name_range(at(definition.line), at(definition.column), named.length);
    let start = Position { line: at(definition.start_line).saturating_sub(1), character: 0 };
    // Half-open: up to the beginning of the line after the last one.
    let end = Position { line: at(definition.end_line), character: 0 };
    let enclosing = Range { start: start.min(range.start), end: end.max(range.end) };
    Occurrence { range, symbol: &named.symbol, roles: Roles::DEFINITION, enclosing_range: Some(enclosing) }
}

/// Returns the range of a name with so many characters at a place.
fn name_range(line: u32, column: u32, length: u32) -> Range {
    let start = Position { line: line.saturating_sub(1), character: column.saturating_sub(1) };
    Range { start, end: Position { character: start.character.saturating_add(length), ..start } }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(symbol: i64, name: &str, qualified: &str, kind: &str) -> GraphDefinition {
        GraphDefinition {
            file_id: 1,
            symbol,
            name: name.to_owned(),
            qualified: qualified.to_owned(),
            kind: kind.to_owned(),
            line: 3,
            column: 5,
            start_line: 2,
            end_line: 4,
            exported: None,
        }
    }

    #[test]
    fn symbols_are_named_by_path_and_containers() {
        let definitions = [
            definition(1, "Shop", "Shop", "class"),
            definition(2, "open", "Shop.open", "method"),
            definition(3, "open", "Shop.open", "method"),
            definition(4, "inner", "Shop.open.inner", "function"),
            definition(5, "new", "Foreign::new", "method"),
            definition(6, "größe", "größe", "variable"),
        ];
        let definitions: Vec<&GraphDefinition> = definitions.iter().collect();
        let names = names_of_file("my shop", "src/a.py", &definitions);
        let symbols: Vec<&str> = names.iter().map(|(_, named)| named.symbol.as_str()).collect();
        assert_eq!(
            symbols,
            [
                "pairofcleats . my  shop . src/`a.py`/Shop#",
                "pairofcleats . my  shop . src/`a.py`/Shop#open().",
                "pairofcleats . my  shop . src/`a.py`/Shop#open(+1).",
                "pairofcleats . my  shop . src/`a.py`/Shop#open().inner().",
                "pairofcleats . my  shop . src/`a.py`/Foreign#new().",
                "pairofcleats . my  shop . src/`a.py`/`größe`.",
            ]
        );
    }
}
