//! A flipped byte: it is found before the file is loaded, named, and mended.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use serde_json::Value;
use upkeep::assets::test_home;

use crate::harness::{Repository, new_home, run_json};

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// A home with a library and a model of its own; the rest is linked to the machine's.
fn own_copies(name: &str) -> PathBuf {
    let home = new_home(name);
    let cache = test_home();
    for (folder, own) in [("runtime", "onnxruntime"), ("models", super::MINILM)] {
        fs::remove_file(home.join(folder)).unwrap();
        fs::create_dir_all(home.join(folder)).unwrap();
        for entry in fs::read_dir(cache.home().join(folder)).unwrap() {
            let entry = entry.unwrap();
            let (from, to) = (entry.path(), home.join(folder).join(entry.file_name()));
            if entry.file_name().to_string_lossy().starts_with(own) {
                copy(&from, &to);
            } else {
                std::os::unix::fs::symlink(from, to).unwrap();
            }
        }
    }
    std::os::unix::fs::symlink(cache.downloads(), home.join("downloads")).unwrap();
    home
}

/// Every file of that name below the folder, with a byte in its middle flipped.
fn flip(folder: &Path, is_it: &dyn Fn(&str) -> bool) -> Vec<PathBuf> {
    let mut flipped = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_symlink() {
            continue;
        } else if path.is_dir() {
            flipped.extend(flip(&path, is_it));
        } else if is_it(&name) {
            let file = fs::File::options().read(true).write(true).open(&path).unwrap();
            let (middle, mut byte) = (file.metadata().unwrap().len() / 2, [0]);
            file.read_exact_at(&mut byte, middle).unwrap();
            file.write_all_at(&[byte[0] ^ 0x10], middle).unwrap();
            flipped.push(path);
        }
    }
    flipped
}

fn warnings(answer: &Value) -> Vec<String> {
    let warnings = answer["_meta"]["warnings"].as_array().cloned().unwrap_or_default();
    warnings.iter().map(|warning| warning["code"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_flipped_byte_is_found_named_and_mended() {
    super::both_variants();
    let home = own_copies("flipped");
    let repository = Repository::new(&[("a.py", "def count_coins(drawer):\n    return sum(drawer)\n")]);
    let root = repository.root();
    assert_eq!(run_json(&home, &["index", &root]).0, 0);
    let search = || run_json(&home, &["search", "how much money is there", "--repo", &root]);
    let (code, sound) = search();
    assert_eq!((code, warnings(&sound)), (0, Vec::new()), "{sound:#}");
    for (folder, file) in [
        ("models", &(|name: &str| name == "model.onnx") as &dyn Fn(&str) -> bool),
        ("runtime", &|name: &str| name.starts_with("libonnxruntime")),
    ] {
        let flipped = flip(&home.join(folder), file);
        assert!(!flipped.is_empty(), "{folder}");
        let named = flipped[0].file_name().unwrap().to_string_lossy().into_owned();
        let (code, degraded) = search();
        assert_eq!((code, warnings(&degraded)), (0, vec!["no_model".to_owned()]), "{degraded:#}");
        let (code, refused) = run_json(&home, &["call", "search", "{\"query\":\"coins\",\"mode\":\"code\"}"]);
        assert_eq!(code, 0, "words are there: {refused:#}");
        let status = run_json(&home, &["call", "check_status"]).1.to_string();
        assert!(status.contains("is damaged") && status.contains(&named), "{status}");
        let (code, report) = run_json(&home, &["doctor"]);
        let report = report.to_string();
        assert_eq!(code, 1, "{report}");
        assert!(report.contains(&named) && report.contains("doctor --repair"), "{report}");
        let (code, report) = run_json(&home, &["doctor", "--repair"]);
        assert_eq!(code, 0, "{report:#}");
        let (code, mended) = search();
        assert_eq!((code, warnings(&mended)), (0, Vec::new()), "{mended:#}");
        assert_eq!(mended["result"]["hits"], sound["result"]["hits"]);
    }
}
