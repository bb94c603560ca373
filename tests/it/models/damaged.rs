//! A damaged model or library file is detected before it is loaded, reported, and repaired.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use upkeep::install::test_home;

use crate::harness::{Repository, new_home, run_json};

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// A home with its own copies of the ONNX runtime and of one model; everything else links to the machine's assets.
fn home_with_copied_assets(name: &str) -> PathBuf {
    let home = new_home(name);
    let cache = test_home();
    for (folder, copied_prefix) in [("runtime", "onnxruntime"), ("models", super::MINILM)] {
        fs::remove_file(home.join(folder)).unwrap();
        fs::create_dir_all(home.join(folder)).unwrap();
        for entry in fs::read_dir(cache.home().join(folder)).unwrap() {
            let entry = entry.unwrap();
            let (from, to) = (entry.path(), home.join(folder).join(entry.file_name()));
            if entry.file_name().to_string_lossy().starts_with(copied_prefix) {
                copy_folder(&from, &to);
            } else {
                std::os::unix::fs::symlink(from, to).unwrap();
            }
        }
    }
    std::os::unix::fs::symlink(cache.downloads(), home.join("downloads")).unwrap();
    home
}

/// Flips one bit in the middle of every matching file below a folder. Returns the files.
fn flip_bytes(folder: &Path, matches_name: &dyn Fn(&str) -> bool) -> Vec<PathBuf> {
    let mut flipped = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_symlink() {
            continue;
        } else if path.is_dir() {
            flipped.extend(flip_bytes(&path, matches_name));
        } else if matches_name(&name) {
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
fn a_flipped_byte_is_detected_reported_and_repaired() {
    super::both_variants();
    let home = home_with_copied_assets("flipped");
    let repository = Repository::new(&[("a.py", "def count_coins(drawer):\n    return sum(drawer)\n")]);
    let root = repository.root();
    assert_eq!(run_json(&home, &["index", &root]).0, 0);
    let search = || run_json(&home, &["search", "how much money is there", "--repo", &root]);
    let (code, before) = search();
    assert_eq!((code, warnings(&before)), (0, Vec::new()), "{before:#}");
    for (folder, file) in [
        ("models", &(|name: &str| name == "model.onnx") as &dyn Fn(&str) -> bool),
        ("runtime", &|name: &str| name.starts_with("libonnxruntime")),
    ] {
        let flipped = flip_bytes(&home.join(folder), file);
        assert!(!flipped.is_empty(), "{folder}");
        let file_name = flipped[0].file_name().unwrap().to_string_lossy().into_owned();
        let (code, degraded) = search();
        assert_eq!((code, warnings(&degraded)), (0, vec!["no_model".to_owned()]), "{degraded:#}");
        let (code, lexical) = run_json(&home, &["call", "search", "{\"query\":\"coins\",\"mode\":\"code\"}"]);
        assert_eq!((code, &lexical["result"]["hits"][0]["file"]), (0, &json!("a.py")), "{lexical:#}");
        let status = run_json(&home, &["call", "check_status"]).1.to_string();
        assert!(status.contains("is damaged") && status.contains(&file_name), "{status}");
        let (code, report) = run_json(&home, &["doctor"]);
        let report = report.to_string();
        assert_eq!(code, 1, "{report}");
        assert!(report.contains(&file_name) && report.contains("doctor --repair"), "{report}");
        let (code, report) = run_json(&home, &["doctor", "--repair"]);
        assert_eq!(code, 0, "{report:#}");
        let (code, repaired) = search();
        assert_eq!((code, warnings(&repaired)), (0, Vec::new()), "{repaired:#}");
        assert_eq!(repaired["result"]["hits"], before["result"]["hits"]);
    }
}
