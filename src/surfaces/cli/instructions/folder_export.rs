//! `export`: writes the catalog to a folder, one file an entry, so that git shows who changed which entry.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::folder::{canonical_folder, read_catalog_file};
use super::snapshot::{CatalogSnapshot, read_catalog};
use super::writable_folder::{Occupant, WritableFolder};
use super::{ProjectArg, counted};
use crate::app::blocking;
use crate::surfaces::cli::output::{DIM, GOOD, styled};
use crate::surfaces::cli::session::{CommandResult, Session};
use contract::{ErrorCode, Fault, escaped_line};
use instructions::entry::SCHEMA_VERSION;
use instructions::files::{
    CATALOG_FILE, CRITERIA_FILE, CatalogFile, EntryForm, GATES_FILE, entry_file_id, entry_file_in,
    parse_entry_file,
};
use instructions::gates::Gates;
use instructions::review::Criteria;
use platform::safe_open::EntryKind;

/// Files in the way that a fault lists.
const LISTED_MAX: usize = 20;
/// A file of this name, in whatever case, is the folder's own description and not an entry.
const README: &str = "readme.md";

/// Arguments of `export`.
#[derive(Debug, clap::Args)]
pub(super) struct ExportArgs {
    /// Folder, which is made if it does not exist
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Form of the files of entries
    #[arg(long, value_enum, default_value = "md")]
    format: FileFormat,
    #[command(flatten)]
    project: ProjectArg,
}

/// The form of an entry's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum FileFormat {
    /// Markdown with front matter
    Md,
    /// JSON
    Json,
}

/// The result that `--json` prints.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct ExportResult {
    folder: PathBuf,
    /// Hash of the catalog.
    hash: String,
    /// Entries of the catalog.
    count: usize,
    /// Files that were written.
    written: Vec<String>,
    /// Files that had the right text already.
    unchanged: usize,
    /// Files of entries that an earlier export wrote and that are gone from the catalog.
    removed: Vec<String>,
}

/// `export`.
pub(super) async fn export_folder(session: &Session, args: &ExportArgs) -> CommandResult {
    let catalog = read_catalog(session, &args.project).await?;
    let (folder, format) = (args.folder.clone(), args.format);
    let done = blocking(move || write_catalog(&folder, format, &catalog)).await?;
    Ok(session.print_result(&done, &render(&done)))
}

fn render(done: &ExportResult) -> String {
    let mut facts = vec![format!("{} written", done.written.len()), format!("{} unchanged", done.unchanged)];
    facts.extend((!done.removed.is_empty()).then(|| format!("{} removed", done.removed.len())));
    format!(
        "{} {} in {}: {}\n  {}\n",
        styled(GOOD, "✓"),
        counted(done.count, "entry", "entries"),
        escaped_line(&done.folder.to_string_lossy()),
        facts.join(", "),
        styled(DIM, &format!("hash {}", done.hash))
    )
}

/// Writes the files that differ, and removes those of entries that are gone. Blocks.
///
/// # Errors
/// `INVALID_INPUT` if the folder cannot be used; `ILLEGAL_STATE` if other people's files are in the way, and nothing is written
/// then.
fn write_catalog(path: &Path, format: FileFormat, catalog: &CatalogSnapshot) -> Result<ExportResult, Fault> {
    let failed = |what: &str, error: std::io::Error| {
        Fault::new(ErrorCode::InvalidInput, format!("{what} cannot be written: {error}."))
            .with_hint("Check the free disk space and the owner of the folder.")
    };
    fs::create_dir_all(path).map_err(|error| failed(&format!("The folder {}", path.display()), error))?;
    let path = canonical_folder(path)?;
    let folder = WritableFolder::open(&path)
        .map_err(|error| failed(&format!("The folder {}", path.display()), error))?;
    let earlier = read_catalog_file(folder.folder()).map_err(|why| {
        Fault::new(ErrorCode::IllegalState, format!("{why} So it is not known what an earlier export wrote."))
            .with_hint(format!(
                "If it is left from a merge, delete it: the next export writes it again. Else export to another folder than {}.",
                path.display()
            ))
    })?;
    let files = files(format, catalog);
    let due = due(&folder, &files, earlier.as_ref())?;
    let unchanged = files.len() - due.len();
    let mut written = Vec::new();
    // The list of what was written comes last: until then, the one before still names the files that are to be removed.
    let is_last = |name: &str| name == CATALOG_FILE;
    for name in due.iter().filter(|name| !is_last(name)) {
        folder.write(name, files[*name].as_bytes()).map_err(|error| failed(&format!("`{name}`"), error))?;
        written.push((*name).to_owned());
    }
    let removed = remove_obsolete(&folder, &files, earlier.as_ref())
        .map_err(|(name, error)| failed(&format!("`{name}`"), error))?;
    for name in due.iter().filter(|name| is_last(name)) {
        folder.write(name, files[*name].as_bytes()).map_err(|error| failed(&format!("`{name}`"), error))?;
        written.push((*name).to_owned());
    }
    let (hash, count) = (catalog.hash.clone(), catalog.entries.len());
    Ok(ExportResult { folder: path, hash, count, written, unchanged, removed })
}

/// All files of an export, by name.
fn files(format: FileFormat, catalog: &CatalogSnapshot) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    for stored in &catalog.entries {
        let form = if format == FileFormat::Json { EntryForm::Json } else { EntryForm::Markdown };
        let (mut name, mut text) = entry_file_in(form, stored);
        if name == README {
            (name, text) = entry_file_in(EntryForm::Json, stored);
        }
        files.insert(name, text);
    }
    let documents = [(GATES_FILE, &catalog.gates), (CRITERIA_FILE, &catalog.criteria)];
    for (name, document) in documents {
        files.extend(document.as_ref().map(|document| (name.to_owned(), format!("{document:#}\n"))));
    }
    let file = CatalogFile {
        hash: catalog.hash.clone(),
        meta_hash: catalog.meta_hash.clone(),
        count: catalog.entries.len(),
        schema_version: SCHEMA_VERSION.to_owned(),
        ids: catalog.entries.iter().map(|stored| stored.instruction.id.clone()).collect(),
    };
    files.insert(CATALOG_FILE.to_owned(), file.to_text());
    files
}

/// The names of the files that have to be written.
///
/// # Errors
/// `ILLEGAL_STATE` if something is in the way that neither an export nor a person wrote as a file of the catalog.
fn due<'a>(
    folder: &WritableFolder,
    files: &'a BTreeMap<String, String>,
    earlier: Option<&CatalogFile>,
) -> Result<Vec<&'a str>, Fault> {
    let (mut due, mut in_the_way) = (Vec::new(), Vec::new());
    for (name, text) in files {
        match folder.occupant(name) {
            Occupant::File(bytes) if bytes == text.as_bytes() => {}
            Occupant::File(bytes) if !may_replace(name, &bytes, earlier) => {
                in_the_way.push(format!("{name}: it is not a file of a catalog"));
            }
            Occupant::Untouchable(why) => in_the_way.push(format!("{name}: {why}")),
            Occupant::Nothing | Occupant::File(_) => due.push(name.as_str()),
        }
    }
    let Some(first) = in_the_way.first() else { return Ok(due) };
    let message = format!(
        "{} in the way, so nothing was written. The first is {first}.",
        counted(in_the_way.len(), "file is", "files are")
    );
    in_the_way.truncate(LISTED_MAX);
    Err(Fault::new(ErrorCode::IllegalState, message)
        .with_details(serde_json::json!({ "inTheWay": in_the_way }))
        .with_hint("Move it away, or export to another folder."))
}

/// Whether a file was written by an export, or as a file of a catalog.
fn may_replace(name: &str, bytes: &[u8], earlier: Option<&CatalogFile>) -> bool {
    let Ok(text) = str::from_utf8(bytes) else { return false };
    match name {
        CATALOG_FILE => earlier.is_some(),
        GATES_FILE => earlier.is_some() || Gates::parse(text).is_ok(),
        CRITERIA_FILE => earlier.is_some() || Criteria::with_project(text).is_ok(),
        _ => {
            let id = entry_file_id(name);
            let is_listed =
                earlier.is_some_and(|file| file.ids.iter().any(|known| Some(known.as_str()) == id));
            is_listed || parse_entry_file(name, text).is_ok()
        }
    }
}

/// Removes the files of entries that an earlier export wrote and this one did not; returns their names.
fn remove_obsolete(
    folder: &WritableFolder,
    files: &BTreeMap<String, String>,
    earlier: Option<&CatalogFile>,
) -> Result<Vec<String>, (String, std::io::Error)> {
    let written: BTreeSet<String> = files.keys().cloned().collect();
    let names = earlier.map(|file| file.obsolete_files(&written)).unwrap_or_default();
    let mut removed = Vec::new();
    for name in names {
        // An export writes no link and no README.md, so these are other people's.
        if name == README || folder.folder().entry_kind(&name) != Some(EntryKind::File) {
            continue;
        }
        folder.remove(&name).map_err(|error| (name.clone(), error))?;
        removed.push(name);
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use instructions::{Instruction, Rules, Stored};
    use serde_json::json;

    fn stored(id: &str) -> Stored {
        let entry = json!({ "id": id, "title": id, "body": format!("Body of {id}."), "priority": 1, "audience": "all",
            "requirement": "optional" });
        let instruction = Instruction::check(entry, &Rules::default()).unwrap().instruction;
        let (source_hash, meta_hash) = (instruction.source_hash(), instruction.meta_hash());
        Stored { instruction, source_hash, meta_hash, created_ms: 1, updated_ms: 1 }
    }

    fn catalog(ids: &[&str]) -> CatalogSnapshot {
        let hash = "0".repeat(64);
        CatalogSnapshot {
            meta_hash: hash.clone(),
            hash,
            entries: ids.iter().map(|id| stored(id)).collect(),
            gates: Some(json!({ "gates": [] })),
            criteria: None,
        }
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn only_what_an_export_wrote_is_removed() {
        let root = tempfile::tempdir().unwrap();
        let export = |format, ids: &[&str]| write_catalog(root.path(), format, &catalog(ids)).unwrap();
        fs::write(root.path().join("README.md"), "About this folder.").unwrap();
        fs::write(root.path().join("notes.md"), "Mine.").unwrap();
        let first = export(FileFormat::Md, &["a", "b", "gates", "readme"]);
        assert_eq!(first.written, ["a.md", "b.md", "gates.json", "gates.md", "readme.json", "catalog.json"]);
        assert_eq!(export(FileFormat::Md, &["a", "b", "gates", "readme"]).written, [] as [&str; 0]);
        // The file of `b` becomes a link: not what the export wrote.
        fs::remove_file(root.path().join("b.md")).unwrap();
        std::os::unix::fs::symlink("a.md", root.path().join("b.md")).unwrap();
        let second = export(FileFormat::Json, &["a", "gates"]);
        assert_eq!(second.removed, ["a.md", "readme.json"]);
        assert_eq!(
            names(root.path()),
            ["README.md", "a.json", "b.md", "catalog.json", "gates.json", "gates.md", "notes.md"]
        );
    }

    #[test]
    fn other_peoples_files_are_not_overwritten() {
        for (name, text) in [
            ("a.md", "# Not an entry\n"),
            ("gates.json", "{\"doors\": []}"),
            ("catalog.json", "{\"kind\": \"Component\"}"),
            ("catalog.json", "<<<<<<< ours\n"),
        ] {
            let root = tempfile::tempdir().unwrap();
            fs::write(root.path().join(name), text).unwrap();
            let fault = write_catalog(root.path(), FileFormat::Md, &catalog(&["a", "b"])).unwrap_err();
            assert_eq!(fault.code, ErrorCode::IllegalState, "{name}");
            assert!(fault.message.contains(name), "{name}: {}", fault.message);
            assert_eq!(names(root.path()), [name], "nothing was written");
        }
        // A person wrote an entry of the same id: that is what an export is for.
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("a.md"), "---\nid: a\n---\nMine.\n").unwrap();
        assert!(write_catalog(root.path(), FileFormat::Md, &catalog(&["a"])).is_ok());
        assert!(fs::read_to_string(root.path().join("a.md")).unwrap().ends_with("Body of a.\n"));
    }

    #[test]
    fn documents_are_written_in_one_form() {
        let documents = [json!({ "gates": [{ "id": "b", "a": 1 }] }), json!({ "gates": [] })];
        let texts: Vec<String> = documents.iter().map(|document| format!("{document:#}\n")).collect();
        assert_eq!(texts[1], "{\n  \"gates\": []\n}\n");
        assert!(texts[0].find("\"id\"") < texts[0].find("\"a\""), "the order of keys stays: {}", texts[0]);
    }
}
