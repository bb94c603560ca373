//! Archives that are indexed as repositories.

mod command_line;
mod hostile;
mod indexing;
mod refreshing;

use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use gate::app::App;
use serde_json::{Value, json};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::harness::result;
use crate::remotes::{FILES, files_with};

/// A folder with archives.
struct ArchiveFolder(tempfile::TempDir);

impl ArchiveFolder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Its canonical path.
    fn path(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap()
    }

    /// Writes a file; its path as a client sends it.
    fn write(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        // As it should be replaced: at once.
        let next = path.with_extension("next");
        std::fs::write(&next, bytes).unwrap();
        std::fs::rename(next, &path).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Writes files into a directory; its path as a client sends it.
    fn unpack(&self, directory: &str, files: &[(&str, &str)]) -> String {
        let directory = self.path().join(directory);
        for (path, text) in files {
            let path = directory.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        directory.to_str().unwrap().to_owned()
    }
}

/// A tar file within gzip; `folder` precedes all paths.
fn tar_gz(folder: &str, files: &[(&str, &str)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (path, text) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, format!("{folder}{path}"), text.as_bytes()).unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap()
}

/// A zip file.
fn zip_file(files: &[(&str, &str)]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (path, text) in files {
        zip.start_file(*path, SimpleFileOptions::default()).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// Indexes an archive or a directory into a project; the report of the run.
async fn index(app: &Arc<App>, project: &str, path: &str) -> Value {
    result(app, "build_index", json!({ "repoPath": path, "project_id": project })).await["report"].take()
}

/// The status of the only repository of a project.
async fn status(app: &Arc<App>, project: &str) -> Value {
    let mut status = result(app, "index_status", json!({ "project_id": project })).await;
    assert_eq!(status["repositories"].as_array().map(Vec::len), Some(1), "{status:#}");
    status["repositories"][0].take()
}

/// The mirror of what is indexed of an archive.
async fn mirror(app: &Arc<App>, project: &str, archive: &str) -> PathBuf {
    let commit = status(app, project).await["commit"].take();
    app.archives().git_dir(Path::new(archive), commit.as_str().unwrap()).unwrap()
}
