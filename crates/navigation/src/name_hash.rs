//! Hashes of names, to compare interfaces and the names that changed.

/// A hash of a name.
pub type NameHash = u32;

/// Hashes a name with FNV-1a over letters without case, because some languages ignore case. The last bit is 0.
pub(crate) fn hash(name: &str) -> NameHash {
    let hash = name.bytes().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte.to_ascii_lowercase())).wrapping_mul(0x0100_0193)
    });
    hash & !1
}

/// Returns the hashes of the identifiers in a text: of a name, or of each part of a module's path.
pub(crate) fn names_in(text: &str) -> impl Iterator<Item = NameHash> {
    let mut parts = text.split(|c: char| !crate::is_in_identifier(c));
    let has_parts = parts.clone().any(|part| !part.is_empty());
    let whole = (!has_parts && !text.is_empty()).then(|| hash(text));
    std::iter::from_fn(move || parts.find(|part| !part.is_empty()))
        .map(hash)
        .filter(move |_| has_parts)
        .chain(whole)
}
