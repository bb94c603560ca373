//! STUB
use std::path::Path;
use crate::config;
use crate::contract::Fault;
use crate::languages::Language;
use super::walk::Entry;
/// x
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkipReason { /// x
    Binary }
impl SkipReason { /// x
    pub fn as_str(self) -> &'static str { "binary" } }
/// x
pub enum Content { /// x
    Skipped(SkipReason), /// x
    Text { /// x
        text: String, /// x
        language: Option<&'static Language> } }
/// x
pub struct Read { /// x
    pub content_hash: Vec<u8>, /// x
    pub content: Content }
/// x
pub fn read(_root: &Path, _entry: &Entry, _settings: &config::Indexing) -> Read { Read { content_hash: vec![], content: Content::Skipped(SkipReason::Binary) } }
/// x
pub struct FileText { /// x
    pub text: String, /// x
    pub language: Option<&'static str>, /// x
    pub content_hash: [u8; 32] }
/// x
pub fn read_text(_root: &Path, _path: &str, _settings: &config::Indexing) -> Result<FileText, Fault> { Ok(FileText { text: String::new(), language: None, content_hash: [0; 32] }) }
