//! SCIP files for the tests: of real indexers, and put together byte by byte.

/// The output of `ty-scip` 0.1.0 for `fixtures/python`.
pub(in crate::scip) const TY_SCIP: &[u8] = include_bytes!("fixtures/ty-scip.scip");
/// The output of `scip-python` 0.6.6 for `fixtures/python`.
pub(in crate::scip) const SCIP_PYTHON: &[u8] = include_bytes!("fixtures/scip-python.scip");
/// The output of `scip-typescript` 0.4.0 for `fixtures/typescript`.
pub(in crate::scip) const SCIP_TYPESCRIPT: &[u8] = include_bytes!("fixtures/scip-typescript.scip");

/// All of them.
pub(in crate::scip) const REAL: [&[u8]; 3] = [TY_SCIP, SCIP_PYTHON, SCIP_TYPESCRIPT];

pub(in crate::scip) fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// Returns a field that is a number.
pub(in crate::scip) fn number(field: u64, value: u64) -> Vec<u8> {
    [varint(field << 3), varint(value)].concat()
}

/// Returns a field that is a text or a message.
pub(in crate::scip) fn bytes(field: u64, value: impl AsRef<[u8]>) -> Vec<u8> {
    let value = value.as_ref();
    [varint(field << 3 | 2), varint(value.len() as u64), value.to_vec()].concat()
}

/// Returns metadata of a tool.
pub(in crate::scip) fn metadata() -> Vec<u8> {
    bytes(1, bytes(2, bytes(1, "tool")))
}

/// Returns a document with this path and these fields.
pub(in crate::scip) fn document(path: &str, fields: &[Vec<u8>]) -> Vec<u8> {
    bytes(2, [bytes(1, path), fields.concat()].concat())
}

/// Returns an occurrence with this packed range and these fields.
pub(in crate::scip) fn occurrence(range: &[u64], fields: &[Vec<u8>]) -> Vec<u8> {
    let numbers = range.iter().flat_map(|number| varint(*number)).collect::<Vec<_>>();
    bytes(2, [bytes(1, numbers), fields.concat()].concat())
}

/// Returns a file with metadata and these fields.
pub(in crate::scip) fn file(fields: &[Vec<u8>]) -> Vec<u8> {
    [metadata(), fields.concat()].concat()
}

/// Returns a source file of the fixtures.
pub(in crate::scip) fn source(folder: &str, path: &str) -> String {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/src/scip/tests/fixtures");
    std::fs::read_to_string(format!("{root}/{folder}/{path}")).unwrap()
}
