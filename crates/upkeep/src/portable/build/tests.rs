//! Names of portable files and batches of their rows.

use super::*;

#[test]
fn file_names_contain_part_and_repository() {
    assert_eq!(portable_file_name(IndexPart::All, None), "index.sqlite");
    assert_eq!(portable_file_name(IndexPart::Code, Some("shop of/ours")), "index-code-shop_of_ours.sqlite");
}

#[test]
fn batches_contain_all_files_within_the_limit() {
    let stamp = |file_id, chunks| FileStamp { file_id, first_chunk: 1, chunks };
    let sizes = |stamps: Vec<FileStamp>| -> Vec<usize> { batches(stamps, 10).iter().map(Vec::len).collect() };
    assert_eq!(sizes(vec![stamp(1, 4), stamp(2, 6), stamp(3, 1), stamp(4, 50), stamp(5, 0)]), [2, 1, 1, 1]);
    assert_eq!(sizes((0..25).map(|id| stamp(id, 0)).collect()), [10, 10, 5]);
    assert!(batches(Vec::new(), 10).is_empty());
}
