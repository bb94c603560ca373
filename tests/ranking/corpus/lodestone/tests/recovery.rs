//! What is left after a crash.

use std::fs::OpenOptions;
use std::io::Write;

use lodestone::{Batch, Error, Options, Store};

#[test]
fn writes_come_back_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    {
        let store = Store::open(directory.path(), Options::default()).unwrap();
        store.put(b"a", b"1").unwrap();
        store.delete(b"a").unwrap();
        store.put(b"b", b"2").unwrap();
    }
    let store = Store::open(directory.path(), Options::default()).unwrap();
    assert_eq!(store.get(b"a").unwrap(), None);
    assert_eq!(store.get(b"b").unwrap(), Some(b"2".to_vec()));
}

#[test]
fn a_torn_record_at_the_end_of_the_log_is_cut_off() {
    let directory = tempfile::tempdir().unwrap();
    Store::open(directory.path(), Options::default()).unwrap().put(b"a", b"1").unwrap();
    let mut log = OpenOptions::new().append(true).open(directory.path().join("LOG")).unwrap();
    log.write_all(&[7; 11]).unwrap();
    let store = Store::open(directory.path(), Options::default()).unwrap();
    assert_eq!(store.get(b"a").unwrap(), Some(b"1".to_vec()));
    store.put(b"b", b"2").unwrap();
}

#[test]
fn a_batch_is_there_whole_or_not_at_all() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), Options::tiny()).unwrap();
    let mut batch = Batch::default();
    batch.put(b"x", b"1").put(b"y", b"2").delete(b"z");
    store.write(batch).unwrap();
    drop(store);
    let log = directory.path().join("LOG");
    let length = log.metadata().unwrap().len();
    OpenOptions::new().write(true).open(&log).unwrap().set_len(length - 1).unwrap();
    let store = Store::open(directory.path(), Options::tiny()).unwrap();
    assert_eq!(store.get(b"x").unwrap(), None);
    assert_eq!(store.get(b"y").unwrap(), None);
}

#[test]
fn a_second_process_is_kept_out() {
    let directory = tempfile::tempdir().unwrap();
    let _first = Store::open(directory.path(), Options::default()).unwrap();
    assert!(matches!(Store::open(directory.path(), Options::default()), Err(Error::Locked(_))));
}
