//! Converts a folder to the rows that an index run would write, without a project.

use std::path::Path;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::file::OpenRoot;
use super::file_tree::FileTree;
use super::options::Mode;
use super::parser::Parsing;
use super::plan::plan_files;
use super::prepare::{PrepareOptions, Prepared, prepare_all};
use super::walk::walk;
use contract::Fault;
use contract::config;
use store::FileWrite;
use tenancy::AllowedRoots;

/// Maximum number of prepared files that wait for the receiver.
const PREPARED_FILES_MAX: usize = 64;

/// Returns the searchable files below `root` with their chunks, in path order, without risk facts and dictionaries.
/// Blocks.
///
/// # Errors
/// Faults of the walk if the root cannot be read; faults of [`Parser::chunk`](super::parser::Parser::chunk).
pub fn read_folder(
    root: &Path,
    settings: &config::Indexing,
    parsing: Parsing,
) -> Result<Vec<FileWrite>, Fault> {
    let walked = walk(root, &FileTree::Directory, &AllowedRoots::any(), &settings.into(), &|| false)?;
    let read = plan_files(Vec::new(), walked.entries, true, Mode::All, 0).read;
    let root = OpenRoot::open(root)?;
    let options = PrepareOptions { mode: Mode::All, parsing, rules: None, dictionary: None };
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let (sender, mut receiver) = mpsc::channel(PREPARED_FILES_MAX);
    let mut files = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let cancel = CancellationToken::new();
            prepare_all(&root, read, settings, &options, threads, &sender, &cancel);
        });
        let outcome = receive_files(&mut receiver, &mut files);
        // After a fault no more files are wanted, so senders must not wait for space in the channel.
        drop(receiver);
        outcome
    })?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn receive_files(
    receiver: &mut mpsc::Receiver<Result<Prepared, Fault>>,
    files: &mut Vec<FileWrite>,
) -> Result<(), Fault> {
    while let Some(prepared) = receiver.blocking_recv() {
        match prepared? {
            Prepared::Changed { file, .. } if file.skipped.is_none() => files.push(*file),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Parsing, read_folder};
    use contract::config::{Overrides, load};

    #[test]
    fn files_have_chunks_and_are_in_path_order() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("b.rs"), "fn b() {}\n").unwrap();
        std::fs::write(folder.path().join("a.py"), "def a():\n    return 1\n").unwrap();
        std::fs::write(folder.path().join("c.png"), b"\x89PNG\0\0").unwrap();
        let home = Overrides { home: Some(folder.path().join("home")), ..Overrides::default() };
        let (config, _) = load(&home).unwrap();
        let files = read_folder(folder.path(), &config.indexing, Parsing::InProcess).unwrap();
        let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["a.py", "b.rs"]);
        assert!(files.iter().all(|file| file.chunks.len() == 1 && !file.chunks[0].words.terms.is_empty()));
    }
}
