//! Reads a folder of instruction files, which people or other programs wrote.

use std::path::Path;

use contract::{ErrorCode, Fault, echo, parse_unique};
use instructions::files::parse_entry_file;
use platform::safe_open::{EntryKind, Folder, ReadError};
use serde_json::{Value, json};

/// Largest file.
const FILE_BYTES_MAX: u64 = 256 << 10;
/// Maximum number of entries of the folder itself, files of other kinds included.
const FILES_MAX: usize = 20_000;
/// Errors that a fault lists.
const ERRORS_LISTED_MAX: usize = 20;

/// The content of a folder: one entry per file, and the documents.
#[derive(Debug, Default)]
pub(crate) struct FolderContent {
    /// The entries, in the order of file names.
    pub(crate) entries: Vec<Value>,
    /// `gates.json`.
    pub(crate) gates: Option<Value>,
    /// `criteria.json`.
    pub(crate) criteria: Option<Value>,
}

/// Reads the files of a folder: `<id>.md`, `<id>.json`, `gates.json` and `criteria.json`. `README.md`, `catalog.json` and files
/// with other extensions are passed over. Links are not followed. Blocks.
///
/// # Errors
/// `INVALID_INPUT` if the folder or one of the files cannot be read; all files are named.
pub(crate) fn read_folder(path: &Path) -> Result<FolderContent, Fault> {
    let unreadable = |error: &dyn std::fmt::Display| {
        let message = format!("The folder {} cannot be read: {error}.", path.display());
        Fault::new(ErrorCode::InvalidInput, message)
    };
    let folder = Folder::open(path).map_err(|error| unreadable(&error))?;
    let (listed, is_complete) = folder.entries(FILES_MAX).map_err(|error| unreadable(&error))?;
    if !is_complete {
        return Err(unreadable(&format!("it has more than {FILES_MAX} files")));
    }
    let mut names: Vec<(String, EntryKind)> = listed
        .into_iter()
        .filter_map(|entry| Some((entry.name.into_string().ok()?, entry.kind)))
        .filter(|(name, kind)| *kind != EntryKind::Folder && is_read(name))
        .collect();
    names.sort_by(|(one, _), (other, _)| one.cmp(other));
    let (mut content, mut errors) = (FolderContent::default(), Vec::new());
    for (name, kind) in names {
        if let Err(error) = content.add(&folder, &name, kind) {
            errors.push(format!("{}: {error}", echo(&name)));
        }
    }
    if errors.is_empty() { Ok(content) } else { Err(broken(path, &errors)) }
}

fn is_read(name: &str) -> bool {
    let has_extension = name.ends_with(".md") || name.ends_with(".json");
    has_extension
        && !name.starts_with('.')
        && name != "catalog.json"
        && !name.eq_ignore_ascii_case("readme.md")
}

fn broken(path: &Path, errors: &[String]) -> Fault {
    let message = format!(
        "{} of the files in {} cannot be imported, so nothing was changed. The first is {}",
        errors.len(),
        path.display(),
        errors[0]
    );
    Fault::new(ErrorCode::InvalidInput, message)
        .with_details(json!({ "errors": errors[..errors.len().min(ERRORS_LISTED_MAX)] }))
        .with_hint("Each file is `<id>.md`: front matter with id, title, priority, audience and requirement, then the text.")
}

impl FolderContent {
    fn add(&mut self, folder: &Folder, name: &str, kind: EntryKind) -> Result<(), String> {
        if kind == EntryKind::Link {
            return Err("it is a link, and links are not followed.".to_owned());
        }
        let bytes = folder.read(name, FILE_BYTES_MAX).map_err(|error| match error {
            ReadError::TooLarge => format!("it has more than {FILE_BYTES_MAX} bytes."),
            _ => "it cannot be read.".to_owned(),
        })?;
        let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8.".to_owned())?;
        let json =
            || parse_unique(text.as_bytes()).map_err(|error| format!("it is not valid JSON: {error}."));
        match name {
            "gates.json" => self.gates = Some(json()?),
            "criteria.json" => self.criteria = Some(json()?),
            _ => self.entries.push(parse_entry_file(name, &text)?),
        }
        Ok(())
    }
}
