//! The files of a repository with their symbols.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use contract::Fault;
use languages::ChunkLimits;
use languages::symbols::{FileSymbols, Symbol};
use navigation::{Reference, Repository, SourceFile, Target};

/// Folders that are never of the repository itself.
const SKIPPED: &[&str] = &["node_modules", "target", "dist", "build", "vendor", "__pycache__"];
/// Largest file that is read.
const BYTES_MAX: u64 = 1 << 20;

/// A file.
pub(super) struct Source {
    pub(super) path: String,
    pub(super) language: &'static str,
    pub(super) text: String,
    pub(super) symbols: FileSymbols,
    pub(super) chunks: usize,
    pub(super) symbol_bytes: usize,
}

/// All files.
pub(super) struct Sources {
    pub(super) files: Vec<Source>,
}

impl Sources {
    /// The references of each file.
    pub(super) fn resolve(&self) -> Vec<Vec<Reference>> {
        let files = self.files.iter().map(|file| SourceFile {
            path: file.path.clone(),
            language: file.language.to_owned(),
            interface: Arc::new(file.symbols.interface.clone().into()),
        });
        let repository = Repository::new(files.collect());
        let numbered = (0..).zip(&self.files);
        numbered.map(|(number, file)| repository.resolve(number, &file.symbols.body)).collect()
    }

    /// A symbol and its name.
    pub(super) fn symbol(&self, target: Target) -> Option<(&Symbol, &str)> {
        let symbols = &self.files.get(target.file as usize)?.symbols;
        let (interface, body) = (&symbols.interface, &symbols.body);
        match (target.symbol as usize).checked_sub(interface.symbols.len()) {
            None => {
                let symbol = interface.symbols.get(target.symbol as usize)?;
                Some((symbol, interface.arena.text(symbol.name)))
            }
            Some(at) => {
                let symbol = body.symbols.get(at)?;
                Some((symbol, body.arena.text(symbol.name)))
            }
        }
    }
}

/// Reads all files with symbols below a folder, in the order of their paths.
pub(super) fn read(root: &Path, without_tests: bool) -> Result<Sources, Fault> {
    let mut files = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        let entries = fs::read_dir(&folder).map_err(|error| failed(&folder, &error))?;
        for entry in entries {
            let entry = entry.map_err(|error| failed(&folder, &error))?;
            let kind = entry.file_type().map_err(|error| failed(&folder, &error))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if kind.is_dir() && !name.starts_with('.') && !SKIPPED.contains(&name.as_str()) {
                open.push(entry.path());
            } else if kind.is_file() {
                let path = entry.path();
                let relative = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
                let small = entry.metadata().is_ok_and(|known| known.len() <= BYTES_MAX);
                if small && !(without_tests && is_test(&relative)) {
                    files.extend(source(&path, relative));
                }
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(Sources { files })
}

fn failed(path: &Path, error: &std::io::Error) -> Fault {
    Fault::internal(format!("{} cannot be read.", path.display()), error.to_string())
}

fn source(path: &Path, relative: String) -> Option<Source> {
    // Names decide for almost all files; the few with another name are not worth reading the whole tree.
    let language = languages::detect(&relative, b"").filter(|language| language.is_code())?;
    let text = fs::read_to_string(path).ok()?;
    let language = languages::detect(&relative, text.as_bytes()).unwrap_or(language);
    let limits = ChunkLimits { facts: true, ..ChunkLimits::default() };
    let chunked = languages::chunk(&text, Some(language), &limits);
    let symbols = chunked.symbols?;
    let symbol_bytes = postcard::to_stdvec(&symbols).map_or(0, |bytes| bytes.len());
    let chunks = chunked.chunks.len();
    Some(Source { path: relative, language: language.id, text, symbols, chunks, symbol_bytes })
}

/// Returns `true` if a file is one of tests, by its path.
fn is_test(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let marks = [".test.", ".spec.", "_test.", "_spec."];
    let folders = ["test", "tests", "spec", "specs", "__tests__", "testdata", "testing", "runtime-tests"];
    marks.iter().any(|mark| name.contains(mark))
        || name.starts_with("test_")
        || path.split('/').any(|part| folders.contains(&part))
}
