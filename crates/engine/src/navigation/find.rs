//! Finds the symbol that a request is about: by name, or by a place where it is defined or used.

use std::collections::BTreeMap;

use super::fields;
use super::nearest::nearest_names;
use super::request::Subject;
use crate::search::{Spelling, SymbolName};
use ::navigation::is_in_identifier;
use contract::{ErrorCode, Fault, Warning, echo, unescaped};
use languages::facts::{DEFINED, Field};
use languages::terms::squash;
use store::navigation::{self, DefinitionAt, NamedDefinitions};
use store::{ProjectTx, RepositoryRow, fact_id, names, use_places};

/// Most definitions of one name that are read.
pub(super) const DEFINITIONS_MAX: i64 = 2000;
/// Most definitions that an ambiguous name is answered with.
pub(super) const CANDIDATES_MAX: usize = 20;

/// A symbol: its definitions. Several definitions of one name in one place, such as overloads, count as one symbol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) definitions: Vec<DefinitionAt>,
}

impl Target {
    /// The ids of the symbol.
    pub(super) fn symbols(&self) -> Vec<i64> {
        self.definitions.iter().filter_map(|definition| definition.symbol).collect()
    }

    /// The first definition; there is always one.
    pub(super) fn first(&self) -> Option<&DefinitionAt> {
        self.definitions.first()
    }
}

/// What a request is about.
#[derive(Debug)]
pub(super) enum Found {
    /// One symbol.
    One(Target),
    /// A name that several symbols have.
    Several { targets: Vec<Target>, is_least: bool },
    /// A name that is used, but has no definition here.
    Undefined { name: String },
}

/// Looks up symbols in some repositories.
pub(super) struct Finder<'a> {
    pub(super) tx: &'a mut ProjectTx,
    pub(super) repositories: &'a [RepositoryRow],
    /// Whether fields are found that are no definitions of their own: only their places are known.
    pub(super) has_fields: bool,
    pub(super) warnings: &'a mut Vec<Warning>,
}

impl Finder<'_> {
    /// Finds what a request is about.
    ///
    /// # Errors
    /// `NOT_FOUND` for an unknown name or file; `INVALID_REQUEST` for what is neither a name nor a place; storage faults.
    pub(super) async fn find(&mut self, subject: &Subject) -> Result<Found, Fault> {
        match subject {
            Subject::Place { file, line, column } => self.at(file, *line, *column).await,
            Subject::Name { symbol, file, line } => match Spelling::parse(symbol)? {
                Spelling::Place { path, line, column } if file.is_none() => {
                    self.at(&path, line, column).await
                }
                Spelling::Place { .. } => Err(Fault::new(
                    ErrorCode::InvalidRequest,
                    "`symbol` names a place, and `file` another one.",
                )
                .with_hint("Give only one of them.")),
                Spelling::Name { path, name } => {
                    let paths: Vec<&str> = path.iter().chain(file).map(String::as_str).collect();
                    // A slash is in no name, but a dot is in many.
                    let is_alone = paths.is_empty();
                    if is_alone
                        && symbol.contains('/')
                        && let Some(fault) = self.whole_file(symbol).await?
                    {
                        return Err(fault);
                    }
                    let found = self.named(&name, &paths, *line).await;
                    let is_unknown = match &found {
                        Ok(Found::Undefined { .. }) => true,
                        Ok(_) => false,
                        Err(fault) => fault.code == ErrorCode::NotFound,
                    };
                    match is_alone && is_unknown && symbol.contains('.') {
                        true => self.whole_file(symbol).await?.map_or(found, Err),
                        false => found,
                    }
                }
            },
        }
    }

    /// The fault for what is the path of a file, and no name.
    async fn whole_file(&mut self, text: &str) -> Result<Option<Fault>, Fault> {
        let path = text.trim().trim_start_matches("./");
        let ids = self.ids();
        let files = use_places::files_at(self.tx, &ids, path).await?;
        Ok((!files.is_empty()).then(|| {
            let path = echo(path);
            let message = format!("`{path}` is a file; name a symbol in it, or a line.");
            let hint = format!("Write `{path}:NAME` or `{path}:LINE`. `show_file` shows the file.");
            Fault::new(ErrorCode::InvalidRequest, message).with_hint(hint)
        }))
    }

    fn ids(&self) -> Vec<i64> {
        self.repositories.iter().map(|repository| repository.id).collect()
    }

    async fn named(&mut self, name: &SymbolName, paths: &[&str], line: Option<u32>) -> Result<Found, Fault> {
        let (ids, around) = (self.ids(), name.around());
        let wanted = NamedDefinitions {
            repositories: &ids,
            name_id: name_id(name.simple()),
            spelling: Some(name.simple()),
            paths,
            around: &around,
            line: line.map(|line| i32::try_from(line).unwrap_or(i32::MAX)),
        };
        let rows = navigation::find_definitions(self.tx, wanted, DEFINITIONS_MAX + 1).await?;
        let is_least = i64::try_from(rows.len()).unwrap_or(i64::MAX) > DEFINITIONS_MAX;
        let fitting: Vec<&DefinitionAt> = rows.iter().filter(|row| name.is_name_of(row)).collect();
        let best = fitting.iter().map(|row| name.fit(row)).max();
        let chosen = fitting.into_iter().filter(|row| Some(name.fit(row)) == best).cloned();
        let mut targets = grouped(chosen.collect());
        match targets.len() {
            0 => self.unknown(name, paths, line).await,
            1 => Ok(Found::One(targets.remove(0))),
            _ => Ok(Found::Several { targets, is_least }),
        }
    }

    /// What a name without a definition that fits is: a field, or a name that is used. Else the fault.
    async fn unknown(
        &mut self,
        name: &SymbolName,
        paths: &[&str],
        line: Option<u32>,
    ) -> Result<Found, Fault> {
        let ids = self.ids();
        // In another spelling, elsewhere, or within something else.
        let same_name =
            navigation::find_definitions(self.tx, all_of(&ids, name.simple()), DEFINITIONS_MAX).await?;
        // The name of its type tells a field apart from what else has the name.
        let may_be_field = same_name.is_empty() || (self.has_fields && !name.around().is_empty());
        if may_be_field
            && let Some(fields) = fields::declared(self.tx, self.repositories, name.simple()).await?
        {
            let meant = if self.has_fields { fields.named(name, paths, line) } else { Vec::new() };
            if !meant.is_empty() {
                return self.fields(meant, fields.is_least).await;
            }
            if same_name.is_empty() {
                return Err(fields.fault(name));
            }
        }
        if same_name.is_empty() && paths.is_empty() && self.is_used(name.simple()).await? {
            return Ok(Found::Undefined { name: name.simple().to_owned() });
        }
        let nearest = if same_name.is_empty() {
            nearest_names(self.tx, &ids, name.simple()).await?
        } else {
            let mut nearest: Vec<String> =
                same_name.iter().map(|row| format!("{}:{}", row.path, row.qualified)).collect();
            nearest.sort();
            nearest.dedup();
            nearest.truncate(NEAREST_MAX);
            nearest
        };
        let within = match paths.first() {
            Some(path) => format!(" in `{}`", echo(path)),
            None => String::new(),
        };
        let message =
            format!("There is no definition of `{}`{within} in the index.", echo(&name.qualified()));
        let fault = Fault::new(ErrorCode::NotFound, message);
        if nearest.is_empty() {
            return Err(fault.with_hint(
                "`search` finds code by meaning. If the code is new, refresh the index with `build_index`.",
            ));
        }
        let named: Vec<String> = nearest.iter().take(3).map(|name| format!("`{}`", echo(name))).collect();
        Err(fault
            .with_details(serde_json::json!({ "nearest": nearest }))
            .with_hint(format!("Did you mean {}?", named.join(" or "))))
    }

    /// Fields as what a request is about, with their lines as signatures.
    async fn fields(&mut self, mut fields: Vec<DefinitionAt>, is_least: bool) -> Result<Found, Fault> {
        fields::read_lines(self.tx, &mut fields).await?;
        let mut targets = grouped(fields);
        Ok(match targets.len() {
            1 if !is_least => Found::One(targets.remove(0)),
            _ => Found::Several { targets, is_least },
        })
    }

    /// What is defined or used at a place: a definition whose name is there; else what is used there; else the definition around
    /// it.
    async fn at(&mut self, path: &str, line: u32, column: Option<u32>) -> Result<Found, Fault> {
        let (file_id, path) = self.file(path).await?;
        let number = i32::try_from(line).unwrap_or(i32::MAX);
        let around = navigation::definitions_at(self.tx, file_id, number).await?;
        let is_there = |row: &&DefinitionAt| {
            let width = i32::try_from(row.name.chars().count()).unwrap_or(i32::MAX);
            let is_at = |column: u32| {
                let column = i32::try_from(column).unwrap_or(i32::MAX);
                row.column <= column && column < row.column.saturating_add(width)
            };
            row.symbol.is_some() && row.line == number && column.is_none_or(is_at)
        };
        let mut here = grouped(around.iter().filter(is_there).cloned().collect());
        match here.len() {
            0 => {}
            1 => return Ok(Found::One(self.with_counterparts(here.remove(0)).await?)),
            _ => return Ok(Found::Several { targets: here, is_least: false }),
        }
        let fields = match self.has_fields {
            true => fields::in_line(self.tx, file_id, line, column).await?,
            false => Vec::new(),
        };
        // Without a column, the type of a field in its line may be meant as well.
        if column.is_some() && !fields.is_empty() {
            return self.fields(fields, false).await;
        }
        if let Some(found) = self.used_at(file_id, line, column).await? {
            return Ok(found);
        }
        if !fields.is_empty() {
            return self.fields(fields, false).await;
        }
        match around.into_iter().find(|row| row.symbol.is_some()) {
            Some(outer) => Ok(Found::One(Target { definitions: vec![outer] })),
            None => Err(Fault::new(
                ErrorCode::NotFound,
                format!("No symbol is known in line {line} of `{}`.", echo(&path)),
            )
            .with_hint("Give a line with a name of code, or the name itself as `symbol`; `show_file` shows the file.")),
        }
    }

    /// What is used in a line; `None` if nothing is.
    async fn used_at(
        &mut self,
        file_id: i64,
        line: u32,
        column: Option<u32>,
    ) -> Result<Option<Found>, Fault> {
        let mut used = use_places::in_line(self.tx, file_id, line).await?;
        let text = self.line(file_id, line).await?;
        if let Some(column) = column {
            // The use whose name contains the column.
            let width = |at: u32| u32::try_from(identifier(&text, at).chars().count().max(1)).unwrap_or(1);
            used.retain(|(_, place)| place.column <= column && column - place.column < width(place.column));
            if used.is_empty() {
                let name = identifier(&text, column);
                return if name.is_empty() { Ok(None) } else { self.guessed(&name, line).await.map(Some) };
            }
        }
        let symbols: Vec<i64> = used.iter().filter_map(|(target, _)| *target).collect();
        let mut targets = grouped(navigation::definitions_by_symbols(self.tx, &symbols).await?);
        let names: Vec<String> = used
            .iter()
            .filter(|(target, _)| target.is_none())
            .map(|(_, place)| identifier(&text, place.column))
            .filter(|name| !name.is_empty())
            .collect();
        match (targets.len(), names.as_slice()) {
            (0, []) => Ok(None),
            (0, [name, ..]) => self.guessed(name, line).await.map(Some),
            (1, []) => Ok(Some(Found::One(self.with_counterparts(targets.remove(0)).await?))),
            // Without a column it is not clear which of the names is meant.
            _ if column.is_none() => Ok(Some(Found::Several { targets, is_least: false })),
            (1, _) => Ok(Some(Found::One(self.with_counterparts(targets.remove(0)).await?))),
            _ => Ok(Some(Found::Several { targets, is_least: false })),
        }
    }

    /// The symbol with what only declares it elsewhere, or what it declares.
    async fn with_counterparts(&mut self, target: Target) -> Result<Target, Fault> {
        let Some(first) = target.first().filter(|row| has_declarations(row)) else { return Ok(target) };
        let repository = [first.repository_id];
        let wanted = all_of(&repository, &first.name);
        let rows = navigation::find_definitions(self.tx, wanted, DEFINITIONS_MAX).await?;
        let symbols = target.symbols();
        let found =
            grouped(rows).into_iter().find(|group| group.symbols().iter().any(|one| symbols.contains(one)));
        Ok(found.unwrap_or(target))
    }

    /// The definitions of a name in a line whose meaning there is not known: never one of them as if it were.
    ///
    /// # Errors
    /// `NOT_FOUND` if there is none.
    async fn guessed(&mut self, name: &str, line: u32) -> Result<Found, Fault> {
        let ids = self.ids();
        let wanted = NamedDefinitions { spelling: Some(name), ..all_of(&ids, name) };
        let mut rows = navigation::find_definitions(self.tx, wanted, DEFINITIONS_MAX + 1).await?;
        let mut is_least = i64::try_from(rows.len()).unwrap_or(i64::MAX) > DEFINITIONS_MAX;
        let fields = match self.has_fields || rows.is_empty() {
            true => fields::declared(self.tx, self.repositories, name).await?,
            false => None,
        };
        match fields {
            Some(fields) if self.has_fields => {
                is_least |= fields.is_least;
                let mut declared = fields.into_rows();
                fields::read_lines(self.tx, &mut declared).await?;
                rows.extend(declared);
            }
            Some(fields) => return Err(fields.fault_of(name)),
            None => {}
        }
        if rows.is_empty() {
            if self.is_used(name).await? {
                return Ok(Found::Undefined { name: name.to_owned() });
            }
            let message = format!("What `{}` is in line {line} is not known to the index.", echo(name));
            return Err(Fault::new(ErrorCode::NotFound, message)
                .with_hint("Local names, fields and keywords are not listed; `show_file` shows the line."));
        }
        let message = format!(
            "What `{}` means there is not known; these are the definitions that have the name.",
            echo(name)
        );
        self.warnings.push(Warning::new("not_resolved", message));
        Ok(Found::Several { targets: grouped(rows), is_least })
    }

    /// Whether code uses a name.
    async fn is_used(&mut self, name: &str) -> Result<bool, Fault> {
        let ids = self.ids();
        let facts: Vec<i64> = USE_FIELDS.iter().map(|field| fact_id(*field as i16, name)).collect();
        Ok(!names::used_in_repositories(self.tx, &facts, &ids).await?.is_empty())
    }

    async fn line(&mut self, file_id: i64, line: u32) -> Result<String, Fault> {
        let number = i32::try_from(line).unwrap_or(i32::MAX);
        let lines = navigation::lines_of(self.tx, &[(file_id, number)]).await?;
        Ok(lines.into_iter().next().map(|(.., text)| text).unwrap_or_default())
    }

    /// The indexed file at a path.
    ///
    /// # Errors
    /// `NOT_FOUND` with `details.unknownPath` if there is none; `INVALID_REQUEST` if there are several.
    async fn file(&mut self, path: &str) -> Result<(i64, String), Fault> {
        let ids = self.ids();
        let mut found = use_places::files_at(self.tx, &ids, path).await?;
        // Answers show the invisible characters of a path in escaped form.
        if found.is_empty()
            && let Some(path) = unescaped(path)
        {
            found = use_places::files_at(self.tx, &ids, &path).await?;
        }
        if found.len() > 1 {
            let name =
                |id: i64| self.repositories.iter().find(|row| row.id == id).map(|row| row.name.as_str());
            let paths: Vec<String> = found
                .iter()
                .map(|(_, repository, path)| format!("{}: {path}", name(*repository).unwrap_or_default()))
                .collect();
            return Err(Fault::new(ErrorCode::InvalidRequest, "Several files have this path.")
                .with_details(serde_json::json!({ "files": paths }))
                .with_hint("Give the whole path, and the repository in `repoPath`."));
        }
        match found.pop() {
            Some((id, _, path)) => Ok((id, path)),
            None => Err(Fault::new(
                ErrorCode::NotFound,
                format!("The file `{}` is not in the index.", echo(path)),
            )
            .with_details(serde_json::json!({ "unknownPath": echo(path) }))
            .with_hint(
                "Use the path of a search hit. If the file is new, refresh the index with `build_index`.",
            )),
        }
    }
}

/// Most names in the details of a fault.
const NEAREST_MAX: usize = 5;

/// Fields whose values are names that code uses.
const USE_FIELDS: [Field; 7] =
    [Field::Call, Field::Use, Field::Read, Field::Type, Field::Member, Field::Extends, Field::Implements];

/// All definitions of a name, however it is spelled.
pub(super) fn all_of<'a>(repositories: &'a [i64], name: &str) -> NamedDefinitions<'a> {
    NamedDefinitions { repositories, name_id: name_id(name), ..NamedDefinitions::default() }
}

/// The id under which definitions of a name are found.
pub(super) fn name_id(name: &str) -> i64 {
    fact_id(DEFINED, &squash(name))
}

/// Groups definitions to symbols: those of one qualified name in one file are one, and what a header of C or C++ declares is what the
/// only file that defines it has. Keeps the order.
pub(super) fn grouped(definitions: Vec<DefinitionAt>) -> Vec<Target> {
    let mut places: BTreeMap<(i64, String), usize> = BTreeMap::new();
    let mut targets: Vec<Target> = Vec::new();
    for definition in definitions {
        let key = (definition.file_id, definition.qualified.clone());
        let at = *places.entry(key).or_insert(targets.len());
        match targets.get_mut(at) {
            Some(target) => target.definitions.push(definition),
            None => targets.push(Target { definitions: vec![definition] }),
        }
    }
    with_declarations(targets)
}

/// Joins what headers declare with what defines it, where it is clear which that is.
fn with_declarations(targets: Vec<Target>) -> Vec<Target> {
    type Key = (i64, Vec<String>);
    let key = |target: &Target| -> Option<(Key, bool)> {
        let first = target.first().filter(|row| has_declarations(row))?;
        let parts = first.qualified.split(['.', ':']).filter(|part| !part.is_empty());
        Some(((first.repository_id, parts.map(str::to_owned).collect()), is_header(&first.path)))
    };
    let mut sources: BTreeMap<Key, usize> = BTreeMap::new();
    for (key, in_header) in targets.iter().filter_map(key) {
        *sources.entry(key).or_default() += usize::from(!in_header);
    }
    let mut joined: Vec<Target> = Vec::with_capacity(targets.len());
    let mut places: BTreeMap<Key, usize> = BTreeMap::new();
    for target in targets {
        let Some((key, _)) = key(&target).filter(|(key, _)| sources.get(key) == Some(&1)) else {
            joined.push(target);
            continue;
        };
        let at = *places.entry(key).or_insert(joined.len());
        match joined.get_mut(at) {
            Some(one) => one.definitions.extend(target.definitions),
            None => joined.push(target),
        }
    }
    // The definition stands for the symbol, and not what declares it.
    for target in &mut joined {
        target.definitions.sort_by_key(|row| has_declarations(row) && is_header(&row.path));
    }
    joined
}

/// Whether a definition may be declared in another file than the one that defines it.
fn has_declarations(definition: &DefinitionAt) -> bool {
    let is_c = matches!(definition.language.as_deref(), Some("c" | "cpp"));
    is_c && matches!(definition.kind.as_str(), "function" | "method" | "constructor" | "variable")
}

fn is_header(path: &str) -> bool {
    let extension = path.rsplit_once('.').map(|(_, extension)| extension);
    matches!(extension, Some("h" | "hh" | "hpp" | "hxx" | "h++" | "inl" | "ipp"))
}

/// The identifier in a text that begins at, or contains, a column (1-based); empty if there is none.
fn identifier(text: &str, column: u32) -> String {
    let is_name = |c: &char| is_in_identifier(*c);
    let chars: Vec<char> = text.chars().collect();
    let at = usize::try_from(column.saturating_sub(1)).unwrap_or(usize::MAX);
    if !chars.get(at).is_some_and(is_name) {
        return String::new();
    }
    let start = (0..at).rev().take_while(|&at| is_name(&chars[at])).last().unwrap_or(at);
    chars[start..].iter().take_while(|c| is_name(c)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_identifier_at_a_column_is_found() {
        let text = "till.open(größe)";
        assert_eq!(identifier(text, 1), "till");
        assert_eq!(identifier(text, 3), "till");
        assert_eq!(identifier(text, 5), "");
        assert_eq!(identifier(text, 11), "größe");
        assert_eq!(identifier(text, 0), "till");
        assert_eq!(identifier(text, u32::MAX), "");
        assert_eq!(identifier("", 1), "");
    }
}
