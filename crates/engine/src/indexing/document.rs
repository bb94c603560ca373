//! A text to index that is not a file.

/// A text to index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The path inside the pseudo repository; pages are ordered by it.
    pub path: String,
    /// The text, in Markdown.
    pub text: String,
    /// `prose` or `records`.
    pub mode: &'static str,
    /// Pairs `key=value` in lower case, for the filter `meta`.
    pub meta: Vec<String>,
    /// Time of the last change, nanoseconds since the epoch.
    pub modified_ns: i64,
}

impl Document {
    /// Returns a hash over the text and the metadata. A document with the stored hash is not written again.
    #[must_use]
    pub fn content_hash(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.text.as_bytes());
        for pair in &self.meta {
            hasher.update(b"\0");
            hasher.update(pair.as_bytes());
        }
        *hasher.finalize().as_bytes()
    }
}
