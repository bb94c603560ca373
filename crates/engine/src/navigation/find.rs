//! Finds the symbol that a request is about: by name, or by a place where it is defined or used.

use super::fields::{self, Fields};
use super::grouping::{Target, grouped, has_declarations};
use super::nearest::nearest_names;
use super::request::Subject;
use crate::search::{Looked, Reading, Spelling, Wanted, look_up, other_spelling};
use contract::{ErrorCode, Fault, Warning, echo, unescaped};
use languages::facts::{DEFINED, Field};
use languages::{Closeness, bare, fold, identifier_at, nfc, spellings_of_name};
use store::navigation::{self, DefinitionAt, FoundDefinitions, NamedDefinitions};
use store::{ProjectTx, RepositoryRow, fact_id, names, use_places};

/// Maximum number of definitions of one name that are read.
pub(super) const DEFINITIONS_MAX: usize = 2000;
/// Maximum number of definitions in the answer for an ambiguous name.
pub(super) const CANDIDATES_MAX: usize = 20;
/// Maximum number of readings of a text by which fields are searched for.
const FIELD_READINGS_MAX: usize = 2;

/// The subject of a request.
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
    /// `true` if fields are found that are not definitions of their own: only their places are known.
    pub(super) has_fields: bool,
    pub(super) warnings: &'a mut Vec<Warning>,
}

impl Finder<'_> {
    /// Finds the subject of a request.
    ///
    /// # Errors
    /// `NOT_FOUND` for an unknown name or file; `INVALID_REQUEST` for text that is neither a name nor a place; storage faults.
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
                spelling @ Spelling::Name(_) => self.by_name(symbol, &spelling, file.as_deref(), *line).await,
            },
        }
    }

    async fn by_name(
        &mut self,
        symbol: &str,
        spelling: &Spelling,
        file: Option<&str>,
        line: Option<u32>,
    ) -> Result<Found, Fault> {
        let Spelling::Name(readings) = spelling else { return Err(not_named(symbol)) };
        // No name of letters contains a slash, but many contain a dot.
        let is_alone = file.is_none() && readings.iter().all(|reading| reading.path.is_none());
        if is_alone
            && symbol.contains('/')
            && let Some(fault) = self.whole_file(symbol).await?
        {
            return Err(fault);
        }
        let found = match self.named(readings, file, line).await? {
            Some(found) => return Ok(found),
            None => match (spelling.question(symbol), self.unknown(readings, file, line).await) {
                // A text that is not spelled like a name is more likely a question.
                (Some(question), Err(fault)) if fault.details.is_none() => return Err(question),
                (_, found) => found,
            },
        };
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

    /// Returns the fault for a text that is the path of a file, not a name.
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

    /// Finds the definitions that a text means by one of its readings; `None` if there is no such name. Warns if they have a different
    /// spelling from the one that was asked for.
    async fn named(
        &mut self,
        readings: &[Reading],
        file: Option<&str>,
        line: Option<u32>,
    ) -> Result<Option<Found>, Fault> {
        let ids = self.ids();
        let line = line.map(|line| i32::try_from(line).unwrap_or(i32::MAX));
        let wanted = Wanted { repositories: &ids, path: file, line, limit: DEFINITIONS_MAX };
        let Some(looked) = look_up(self.tx, readings, wanted).await? else { return Ok(None) };
        let Looked { reading, definitions, is_least, closeness } = looked;
        if closeness == Closeness::Bare {
            // A field, which has no row, may have exactly this spelling: then nothing else is meant.
            if let Some(found) = self.fields_named(readings, file, line).await? {
                return Ok(Some(found));
            }
            // A name with marks that code uses is that name, and is defined elsewhere.
            let asked = reading.name.simple();
            if bare(asked) != asked && self.is_used(asked).await? {
                return Ok(Some(Found::Undefined { name: asked.to_owned() }));
            }
            let names = definitions.iter().map(|row| row.name.as_str());
            self.warnings.push(other_spelling(reading.name.simple(), names));
        }
        let mut targets = grouped(definitions);
        Ok(Some(match targets.len() {
            1 => Found::One(targets.remove(0)),
            _ => Found::Several { targets, is_least },
        }))
    }

    /// Returns the fields that a text means by one of its readings, in the spelling that was asked for.
    ///
    /// # Errors
    /// The fault that lists the fields, if they cannot be answered.
    async fn fields_named(
        &mut self,
        readings: &[Reading],
        file: Option<&str>,
        line: Option<i32>,
    ) -> Result<Option<Found>, Fault> {
        let line = line.and_then(|line| u32::try_from(line).ok());
        for reading in readings.iter().take(FIELD_READINGS_MAX) {
            let paths: Vec<&str> = reading.path.as_deref().into_iter().chain(file).collect();
            let Some(fields) = self.declared(reading.name.simple()).await? else { continue };
            let meant = fields.named(&reading.name, &paths, line);
            if meant.iter().any(|row| reading.name.is_spelling_of(row)) {
                return match self.has_fields {
                    true => self.fields(meant, fields.is_least).await.map(Some),
                    false => Err(fields.fault(&reading.name)),
                };
            }
        }
        Ok(None)
    }

    /// Returns the fields of a name, in the first of its spellings that a field has.
    async fn declared(&mut self, name: &str) -> Result<Option<Fields>, Fault> {
        for spelling in spellings_of_name(name) {
            if let Some(found) = fields::declared(self.tx, self.repositories, &spelling).await? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Resolves a name without a matching definition to a field, or to a name that is used. Otherwise returns the fault.
    async fn unknown(
        &mut self,
        readings: &[Reading],
        file: Option<&str>,
        line: Option<u32>,
    ) -> Result<Found, Fault> {
        let Some(Reading { path, name }) = readings.first() else { return Err(not_named("")) };
        let paths: Vec<&str> = path.as_deref().into_iter().chain(file).collect();
        let paths = paths.as_slice();
        let ids = self.ids();
        // In another spelling, elsewhere, or within something else.
        let same_name =
            navigation::find_definitions(self.tx, all_of(&ids, name.simple()), DEFINITIONS_MAX).await?.rows;
        // Definitions that only share the letters do not hide a field, and the name of its type distinguishes it from others of the same
        // name.
        let is_hidden = same_name.iter().any(|row| name.is_spelling_of(row));
        let may_be_field = !is_hidden || (self.has_fields && !name.around().is_empty());
        if may_be_field && let Some(fields) = self.declared(name.simple()).await? {
            let meant = if self.has_fields { fields.named(name, paths, line) } else { Vec::new() };
            if !meant.is_empty() {
                if meant.iter().all(|row| name.closeness(row) != Some(Closeness::Same)) {
                    self.warnings
                        .push(other_spelling(name.simple(), meant.iter().map(|row| row.name.as_str())));
                }
                return self.fields(meant, fields.is_least).await;
            }
            if same_name.is_empty() || (!is_hidden && fields.have_spelling(name)) {
                return Err(fields.fault(name));
            }
        }
        if same_name.is_empty()
            && paths.is_empty()
            && let Some(name) = self.used_spelling(name.simple()).await?
        {
            return Ok(Found::Undefined { name });
        }
        let nearest = if same_name.is_empty() {
            nearest_names(self.tx, &ids, name.simple()).await?
        } else {
            let mut nearest: Vec<String> = same_name.iter().filter_map(named_again).collect();
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

    /// Returns fields as the subject of a request, with their lines as signatures.
    async fn fields(&mut self, mut fields: Vec<DefinitionAt>, is_least: bool) -> Result<Found, Fault> {
        fields::read_lines(self.tx, &mut fields).await?;
        let mut targets = grouped(fields);
        Ok(match targets.len() {
            1 if !is_least => Found::One(targets.remove(0)),
            _ => Found::Several { targets, is_least },
        })
    }

    /// Finds the subject at a place: the definition whose name is there, otherwise the symbol that is used there, otherwise the definition
    /// around it.
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
        if let Some(found) = self.used_at((file_id, &path), line, column).await? {
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

    /// Finds the symbols that are used in a line; `None` if there are none.
    async fn used_at(
        &mut self,
        (file_id, path): (i64, &str),
        line: u32,
        column: Option<u32>,
    ) -> Result<Option<Found>, Fault> {
        let language = languages::detect(path, &[]).map(|language| language.id);
        let mut used = use_places::in_line(self.tx, file_id, line).await?;
        let text = self.line(file_id, line).await?;
        if let Some(column) = column {
            // The use whose name contains the column.
            let width = |at: u32| {
                let name = identifier_at(&text, at, language);
                name.map_or(1, |name| u32::try_from(name.width.max(1)).unwrap_or(1))
            };
            used.retain(|(_, place)| place.column <= column && column - place.column < width(place.column));
            if used.is_empty() {
                return match identifier_at(&text, column, language) {
                    Some(found) => self.guessed(&found.name, line).await.map(Some),
                    None => Ok(None),
                };
            }
        }
        let symbols: Vec<i64> = used.iter().filter_map(|(target, _)| *target).collect();
        let mut targets = grouped(navigation::definitions_by_symbols(self.tx, &symbols).await?);
        let names: Vec<String> = used
            .iter()
            .filter(|(target, _)| target.is_none())
            .filter_map(|(_, place)| identifier_at(&text, place.column, language))
            .map(|found| found.name)
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

    /// Returns the symbol together with its declarations elsewhere, or with the definition that it declares.
    async fn with_counterparts(&mut self, target: Target) -> Result<Target, Fault> {
        let Some(first) = target.first().filter(|row| has_declarations(row)) else { return Ok(target) };
        let repository = [first.repository_id];
        let wanted = all_of(&repository, &first.name);
        let rows = navigation::find_definitions(self.tx, wanted, DEFINITIONS_MAX).await?.rows;
        let symbols = target.symbols();
        let found =
            grouped(rows).into_iter().find(|group| group.symbols().iter().any(|one| symbols.contains(one)));
        Ok(found.unwrap_or(target))
    }

    /// Returns the definitions of a name in a line whose meaning there is not known, as candidates and never as a certain result.
    ///
    /// # Errors
    /// `NOT_FOUND` if there are no definitions.
    async fn guessed(&mut self, name: &str, line: u32) -> Result<Found, Fault> {
        let ids = self.ids();
        let wanted = NamedDefinitions { spelling: Some(name), ..all_of(&ids, name) };
        let FoundDefinitions { mut rows, mut is_least } =
            navigation::find_definitions(self.tx, wanted, DEFINITIONS_MAX).await?;
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

    /// Returns the first spelling of a name that code uses.
    async fn used_spelling(&mut self, name: &str) -> Result<Option<String>, Fault> {
        for spelling in spellings_of_name(name) {
            if self.is_used(&spelling).await? {
                return Ok(Some(spelling));
            }
        }
        Ok(None)
    }

    /// Returns whether code uses a name.
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

    /// Returns the indexed file at a path.
    ///
    /// # Errors
    /// `NOT_FOUND` with `details.unknownPath` if there is no such file; `INVALID_REQUEST` if there are several.
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

/// Maximum number of names in the details of a fault.
const NEAREST_MAX: usize = 5;

/// Fields whose values are names that code uses.
const USE_FIELDS: [Field; 7] =
    [Field::Call, Field::Use, Field::Read, Field::Type, Field::Member, Field::Extends, Field::Implements];

/// Returns a query for all definitions of a name, however it is spelled.
pub(super) fn all_of<'a>(repositories: &'a [i64], name: &str) -> NamedDefinitions<'a> {
    NamedDefinitions { repositories, name_id: name_id(name), ..NamedDefinitions::default() }
}

/// Returns the id under which definitions of a name are found.
pub(super) fn name_id(name: &str) -> i64 {
    fact_id(DEFINED, &fold(name))
}

/// Returns a text by which a definition is found again: its file with its name or, if that would be read otherwise, with its line.
fn named_again(row: &DefinitionAt) -> Option<String> {
    let place = format!("{}:{}", row.path, row.line);
    let texts = [format!("{}:{}", row.path, row.qualified), place, row.qualified.clone()];
    texts.into_iter().find(|text| match Spelling::parse(text) {
        Ok(Spelling::Name(readings)) => readings.iter().any(|reading| {
            let is_there = reading.path.as_ref().is_none_or(|path| *path == nfc(&row.path));
            is_there && reading.name.is_name_of(row)
        }),
        Ok(Spelling::Place { path, .. }) => path == nfc(&row.path),
        Err(_) => false,
    })
}

/// Returns the fault for a text that names nothing.
fn not_named(text: &str) -> Fault {
    Fault::new(ErrorCode::InvalidRequest, format!("`{}` is not the name of a symbol.", echo(text)))
        .with_hint("Write a name like `Context.json`; `search` takes questions.")
}
