//! `export`: writes the catalog to a folder, with one file per entry, so that git shows who changed which entry.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use super::earlier_export::{EarlierExport, README, is_of_catalog};
use super::folder::canonical_folder;
use super::snapshot::{CatalogSnapshot, read_catalog};
use super::writable_folder::{Occupant, WritableFolder};
use super::{ProjectArg, counted};
use contract::{ErrorCode, Fault, escaped_line, parse_unique};
use gate::app::blocking;
use instructions::Instruction;
use instructions::entry::SCHEMA_VERSION;
use instructions::files::{
    CATALOG_FILE, CRITERIA_FILE, CatalogFile, EntryForm, GATES_FILE, entry_file_in, entry_of_file, file_hash,
};
use surfaces::cli::shell::{CommandResult, DIM, GOOD, NOTE, Session, styled};

/// The number of conflicting files that a fault lists.
const LISTED_MAX: usize = 20;
/// The number of kept files that are printed.
const PRINTED_MAX: usize = 20;

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
    /// Number of entries in the catalog.
    count: usize,
    /// Files that were written.
    written: Vec<String>,
    /// The number of files that already had the right text.
    unchanged: usize,
    /// Files that an earlier export wrote and whose entries are no longer in the catalog.
    removed: Vec<String>,
    /// Files that would be removed, but were edited since and are kept.
    kept: Vec<String>,
}

/// A file of the export.
struct ExportedFile<'a> {
    text: String,
    content: Content<'a>,
}

/// The content of a file.
enum Content<'a> {
    Entry(&'a Instruction),
    Document(&'a Value),
    Catalog,
}

/// Entry point of `export`.
pub(super) async fn export_folder(session: &Session, args: &ExportArgs) -> CommandResult {
    let catalog = read_catalog(session, &args.project).await?;
    let (folder, format) = (args.folder.clone(), args.format);
    let done = blocking(move || write_catalog(&folder, format, &catalog)).await?;
    Ok(session.print_result(&done, &render(&done)))
}

fn render(done: &ExportResult) -> String {
    let mut facts = vec![format!("{} written", done.written.len()), format!("{} unchanged", done.unchanged)];
    facts.extend((!done.removed.is_empty()).then(|| format!("{} removed", done.removed.len())));
    let mut text = format!(
        "{} {} in {}: {}\n",
        styled(GOOD, "✓"),
        counted(done.count, "entry", "entries"),
        escaped_line(&done.folder.to_string_lossy()),
        facts.join(", ")
    );
    for name in done.kept.iter().take(PRINTED_MAX) {
        text.push_str(&format!(
            "{} {}: kept, because it was edited after it was exported; it is no longer in the catalog\n",
            styled(NOTE, "!"),
            escaped_line(name)
        ));
    }
    if done.kept.len() > PRINTED_MAX {
        text.push_str(&format!("  … and {} more\n", done.kept.len() - PRINTED_MAX));
    }
    text + &format!("  {}\n", styled(DIM, &format!("hash {}", done.hash)))
}

/// Writes the files that differ, and removes those of entries that are gone. Blocks the thread.
///
/// # Errors
/// `INVALID_INPUT` if the folder cannot be used; `ILLEGAL_STATE` if files of the user, or edited files of an earlier export, are
/// in the way, in which case nothing is written.
fn write_catalog(path: &Path, format: FileFormat, catalog: &CatalogSnapshot) -> Result<ExportResult, Fault> {
    let failed = |what: &str, error: std::io::Error| {
        Fault::new(ErrorCode::InvalidInput, format!("{what} cannot be written: {error}."))
            .with_hint("Check the free disk space and the owner of the folder.")
    };
    fs::create_dir_all(path).map_err(|error| failed(&format!("The folder {}", path.display()), error))?;
    let path = canonical_folder(path)?;
    let folder = WritableFolder::open(&path)
        .map_err(|error| failed(&format!("The folder {}", path.display()), error))?;
    let earlier = EarlierExport::read(&folder).map_err(|why| {
        Fault::new(ErrorCode::IllegalState, format!("{why} So it is not known what an earlier export wrote."))
            .with_hint(format!(
                "If it is left from a merge, delete it: the next export writes it again. Else export to another folder than {}.",
                path.display()
            ))
    })?;
    let files = files(format, catalog);
    let due = due(&folder, &files, &earlier, &path)?;
    let unchanged = files.len() - due.len();
    let mut written = Vec::new();
    // The list of written files comes last: until then, the previous list still names the files that are to be removed.
    let is_last = |name: &str| name == CATALOG_FILE;
    for name in due.iter().filter(|name| !is_last(name)) {
        folder
            .write(name, files[*name].text.as_bytes())
            .map_err(|error| failed(&format!("`{name}`"), error))?;
        written.push((*name).to_owned());
    }
    let (removed, kept) = remove_obsolete(&folder, &files, &earlier)
        .map_err(|(name, error)| failed(&format!("`{name}`"), error))?;
    for name in due.iter().filter(|name| is_last(name)) {
        folder
            .write(name, files[*name].text.as_bytes())
            .map_err(|error| failed(&format!("`{name}`"), error))?;
        written.push((*name).to_owned());
    }
    let (hash, count) = (catalog.hash.clone(), catalog.entries.len());
    Ok(ExportResult { folder: path, hash, count, written, unchanged, removed, kept })
}

/// Returns all files of an export, by name.
fn files(format: FileFormat, catalog: &CatalogSnapshot) -> BTreeMap<String, ExportedFile<'_>> {
    let mut files = BTreeMap::new();
    for stored in &catalog.entries {
        let form = if format == FileFormat::Json { EntryForm::Json } else { EntryForm::Markdown };
        let (mut name, mut text) = entry_file_in(form, stored);
        // That name belongs to the description of the folder.
        if name == README {
            (name, text) = entry_file_in(EntryForm::Json, stored);
        }
        files.insert(name, ExportedFile { text, content: Content::Entry(&stored.instruction) });
    }
    for (name, document) in [(GATES_FILE, &catalog.gates), (CRITERIA_FILE, &catalog.criteria)] {
        files.extend(document.as_ref().map(|document| {
            let text = format!("{document:#}\n");
            (name.to_owned(), ExportedFile { text, content: Content::Document(document) })
        }));
    }
    let hashes = files.iter().map(|(name, file)| (name.clone(), file_hash(&file.text)));
    let file = CatalogFile {
        hash: catalog.hash.clone(),
        meta_hash: catalog.meta_hash.clone(),
        count: catalog.entries.len(),
        schema_version: SCHEMA_VERSION.to_owned(),
        files: Some(hashes.collect()),
        ids: Vec::new(),
    };
    files.insert(CATALOG_FILE.to_owned(), ExportedFile { text: file.to_text(), content: Content::Catalog });
    files
}

impl Content<'_> {
    /// Checks whether the catalog holds what the file says, in any form: then replacing the file loses nothing.
    fn is_in(&self, name: &str, text: &str) -> bool {
        match self {
            Self::Entry(instruction) => entry_of_file(name, text).is_some_and(|entry| entry == **instruction),
            Self::Document(document) => parse_unique(text.as_bytes()).is_ok_and(|value| value == **document),
            // It has already been read as the list of an earlier export.
            Self::Catalog => true,
        }
    }
}

/// Returns the names of the files that have to be written.
///
/// # Errors
/// `ILLEGAL_STATE` if something in the way would be lost: a file that no export wrote, or one that was edited since and not
/// imported.
fn due<'a>(
    folder: &WritableFolder,
    files: &'a BTreeMap<String, ExportedFile>,
    earlier: &EarlierExport,
    path: &Path,
) -> Result<Vec<&'a str>, Fault> {
    let (mut due, mut in_the_way, mut can_be_imported) = (Vec::new(), Vec::new(), true);
    for (name, file) in files {
        let bytes = match folder.occupant(name) {
            Occupant::File(bytes) if bytes == file.text.as_bytes() => continue,
            Occupant::File(bytes) => bytes,
            Occupant::Untouchable(why) => {
                in_the_way.push(format!("{name}: {why}"));
                can_be_imported = false;
                continue;
            }
            Occupant::Nothing => {
                due.push(name.as_str());
                continue;
            }
        };
        match str::from_utf8(&bytes) {
            Ok(text) if earlier.wrote(name, text) || file.content.is_in(name, text) => {
                due.push(name.as_str())
            }
            Ok(text) if earlier.lists(name) || is_of_catalog(name, text) => {
                in_the_way.push(format!("{name}: it has changes that are not in the catalog"));
            }
            _ => {
                in_the_way.push(format!("{name}: it is not a file of a catalog"));
                can_be_imported = false;
            }
        }
    }
    if in_the_way.is_empty() { Ok(due) } else { Err(in_the_way_fault(in_the_way, can_be_imported, path)) }
}

fn in_the_way_fault(mut in_the_way: Vec<String>, can_be_imported: bool, path: &Path) -> Fault {
    let message = format!(
        "{} in the way, so nothing was written. The first is {}.",
        counted(in_the_way.len(), "file is", "files are"),
        in_the_way[0]
    );
    in_the_way.truncate(LISTED_MAX);
    let hint = if can_be_imported {
        let import = format!("pairofcleats instructions import {} --overwrite", path.display());
        format!(
            "Take it into the catalog first: `{import}`. Or delete the file, and the export writes its own."
        )
    } else {
        "Move it away, or export to another folder.".to_owned()
    };
    Fault::new(ErrorCode::IllegalState, message)
        .with_details(serde_json::json!({ "inTheWay": in_the_way }))
        .with_hint(hint)
}

/// Removes the files that an earlier export wrote and this one did not. Returns their names, and those of the files that are kept
/// because they were edited.
fn remove_obsolete(
    folder: &WritableFolder,
    files: &BTreeMap<String, ExportedFile>,
    earlier: &EarlierExport,
) -> Result<(Vec<String>, Vec<String>), (String, std::io::Error)> {
    let (mut removed, mut kept) = (Vec::new(), Vec::new());
    for name in earlier.names().filter(|name| !files.contains_key(*name)) {
        match folder.occupant(name) {
            Occupant::Nothing => {}
            Occupant::File(bytes) if str::from_utf8(&bytes).is_ok_and(|text| earlier.wrote(name, text)) => {
                folder.remove(name).map_err(|error| (name.to_owned(), error))?;
                removed.push(name.to_owned());
            }
            _ => kept.push(name.to_owned()),
        }
    }
    Ok((removed, kept))
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
        // The file of `b` becomes a link, which the export did not write.
        fs::remove_file(root.path().join("b.md")).unwrap();
        std::os::unix::fs::symlink("a.md", root.path().join("b.md")).unwrap();
        let second = export(FileFormat::Json, &["a", "gates"]);
        assert_eq!(
            (&second.removed[..], &second.kept[..]),
            (&["a.md".into(), "readme.json".into()][..], &["b.md".into()][..])
        );
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
    }

    /// Exports and returns the message and the hint of the refusal.
    fn refused(root: &Path, catalog: &CatalogSnapshot) -> (String, String) {
        let fault = write_catalog(root, FileFormat::Md, catalog).unwrap_err();
        assert_eq!(fault.code, ErrorCode::IllegalState, "{}", fault.message);
        (fault.message, fault.hint.unwrap())
    }

    fn changed(catalog: &CatalogSnapshot, body: &str) -> CatalogSnapshot {
        let mut changed = self::catalog(&[]);
        changed.entries = catalog.entries.clone();
        for stored in &mut changed.entries {
            stored.instruction.body = body.to_owned();
            stored.source_hash = stored.instruction.source_hash();
        }
        changed
    }

    #[test]
    fn a_file_with_the_name_of_an_entry_in_the_other_form_is_not_ours() {
        let root = tempfile::tempdir().unwrap();
        let theirs = root.path().join("package.json");
        fs::write(&theirs, "{\"name\": \"package\"}").unwrap();
        let catalog = catalog(&["package"]);
        assert_eq!(write_catalog(root.path(), FileFormat::Md, &catalog).unwrap().removed, [] as [&str; 0]);
        write_catalog(root.path(), FileFormat::Md, &catalog).unwrap();
        let fault = write_catalog(root.path(), FileFormat::Json, &catalog).unwrap_err();
        assert!(fault.message.contains("package.json: it is not a file of a catalog"), "{}", fault.message);
        let empty = self::catalog(&[]);
        assert_eq!(write_catalog(root.path(), FileFormat::Md, &empty).unwrap().removed, ["package.md"]);
        assert_eq!(fs::read_to_string(theirs).unwrap(), "{\"name\": \"package\"}");
    }

    #[test]
    fn what_a_person_changed_and_did_not_import_stays() {
        let root = tempfile::tempdir().unwrap();
        let ours = catalog(&["a"]);
        write_catalog(root.path(), FileFormat::Md, &ours).unwrap();
        let path = root.path().join("a.md");
        let exported = fs::read_to_string(&path).unwrap();
        // Different line endings and comments are not changes of the entry.
        for harmless in [exported.replace('\n', "\r\n"), exported.replace("---\nid", "---\n# c\nid")] {
            fs::write(&path, harmless).unwrap();
            assert_eq!(write_catalog(root.path(), FileFormat::Md, &ours).unwrap().written, ["a.md"]);
        }
        // With another title, and with another body beside its old hash, which an import does not accept.
        let edited = exported.replace("title: a", "title: Better");
        for edited in [&exported.replace("Body", "Better body"), &edited] {
            fs::write(&path, edited).unwrap();
            for catalog in [&ours, &changed(&ours, "Of the catalog.")] {
                let (message, hint) = refused(root.path(), catalog);
                assert!(message.contains("a.md: it has changes that"), "{message}");
                assert!(hint.contains("instructions import") && hint.contains("--overwrite"), "{hint}");
                assert_eq!(fs::read_to_string(&path).unwrap(), *edited);
            }
        }
        let gone = write_catalog(root.path(), FileFormat::Md, &catalog(&[])).unwrap();
        assert_eq!((gone.removed.len(), &gone.kept[..]), (0, &["a.md".to_owned()][..]));
        assert!(render(&gone).contains("a.md: kept, because it was edited"), "{}", render(&gone));
        assert_eq!(fs::read_to_string(&path).unwrap(), edited);
        // An exported file that was not edited follows the catalog; gates as well.
        fs::remove_file(&path).unwrap();
        write_catalog(root.path(), FileFormat::Md, &ours).unwrap();
        let mut changed = changed(&ours, "Of the catalog.");
        changed.gates = Some(
            json!({ "gates": [{ "id": "g", "severity": "warn", "type": "count", "op": ">", "value": 0 }] }),
        );
        let followed = write_catalog(root.path(), FileFormat::Md, &changed).unwrap();
        assert_eq!(followed.written, ["a.md", "gates.json", "catalog.json"]);
    }

    #[test]
    fn gates_that_a_person_wrote_stay() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("gates.json");
        let text = |value| {
            format!(
                "{{\"gates\": [{{\"id\": \"g\", \"severity\": \"warn\", \"type\": \"count\", \"op\": \">\", \"value\": {value}}}]}}"
            )
        };
        fs::write(&path, text(1)).unwrap();
        let mut ours = catalog(&["a"]);
        assert!(refused(root.path(), &ours).0.contains("gates.json: it has changes"));
        // Gates that equal those of the catalog, in another form.
        ours.gates = serde_json::from_str(&text(1)).unwrap();
        write_catalog(root.path(), FileFormat::Md, &ours).unwrap();
        fs::write(&path, text(2)).unwrap();
        assert!(refused(root.path(), &ours).0.contains("gates.json: it has changes"));
        ours.gates = None;
        assert_eq!(write_catalog(root.path(), FileFormat::Md, &ours).unwrap().kept, ["gates.json"]);
        assert_eq!(fs::read_to_string(&path).unwrap(), text(2));
    }

    #[test]
    fn an_unedited_export_of_an_earlier_version_is_recognised() {
        let (ours, later) = (catalog(&["a", "b"]), catalog(&["a"]));
        let hashes = instructions::diff::catalog_hashes(&ours.hashes());
        let hex = |hash: &[u8; 32]| platform::sha256::to_hex(hash);
        let earlier = json!({ "hash": hex(&hashes.0), "metaHash": hex(&hashes.1), "count": 2, "schemaVersion": "1",
            "ids": ["a", "b"] });
        for is_edited in [false, true] {
            let root = tempfile::tempdir().unwrap();
            write_catalog(root.path(), FileFormat::Md, &ours).unwrap();
            fs::write(root.path().join("catalog.json"), earlier.to_string()).unwrap();
            fs::write(root.path().join("a.json"), "{\"mine\": true}").unwrap();
            let (a, b) = (root.path().join("a.md"), root.path().join("b.md"));
            if is_edited {
                let edited = fs::read_to_string(&b).unwrap().replace("title: b", "title: Better");
                fs::write(&b, edited).unwrap();
                assert!(refused(root.path(), &changed(&ours, "New.")).0.contains("2 files are in the way"));
                assert_eq!(write_catalog(root.path(), FileFormat::Md, &later).unwrap().kept, ["b.md"]);
                assert!(b.exists());
            } else {
                let changed = changed(&later, "New.");
                assert_eq!(write_catalog(root.path(), FileFormat::Md, &changed).unwrap().removed, ["b.md"]);
                assert!(fs::read_to_string(&a).unwrap().ends_with("New.\n"));
            }
            assert_eq!(fs::read_to_string(root.path().join("a.json")).unwrap(), "{\"mine\": true}");
        }
    }

    #[test]
    fn documents_are_written_in_one_form() {
        let documents = [json!({ "gates": [{ "id": "b", "a": 1 }] }), json!({ "gates": [] })];
        let texts: Vec<String> = documents.iter().map(|document| format!("{document:#}\n")).collect();
        assert_eq!(texts[1], "{\n  \"gates\": []\n}\n");
        assert!(texts[0].find("\"id\"") < texts[0].find("\"a\""), "the order of keys stays: {}", texts[0]);
    }
}
