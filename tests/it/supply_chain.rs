//! The supply chain: licences and sources of crates, what their build scripts do, checksums of runtime files, and the bill of
//! materials.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use regex::Regex;
use serde_json::Value;

use crate::clients::cyclonedx_schemas;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Runs a program that must succeed. Returns its output, which may be megabytes.
fn run_successfully(program: &str, arguments: &[&str]) -> String {
    let output =
        Command::new(program).args(arguments).current_dir(root()).stdin(Stdio::null()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{program} {arguments:?}:\n{}", text(&output.stderr));
    text(&output.stdout)
}

fn read_toml(path: &str) -> toml::Table {
    fs::read_to_string(root().join(path)).unwrap().parse().unwrap()
}

#[test]
fn licences_sources_and_bans_are_respected() {
    run_successfully(root().join(".ci/deny").to_str().unwrap(), &["licenses", "bans", "sources"]);
}

/// Crates that use the network.
const NETWORK_CRATES: &[&str] = &[
    "attohttpc", "curl", "curl-sys", "git2", "hyper", "isahc", "minreq", "native-tls", "openssl", "reqwest",
    "rustls", "surf", "tokio", "ureq",
];
/// Words in a build script that indicate a download, or a program that downloads.
const DOWNLOAD_WORDS: &[&str] = &[
    "TcpStream", "UdpSocket", "ureq", "reqwest", "curl", "wget", "powershell", "download", "\"git\"",
    "\"pip\"", "\"npm\"",
];
/// Build scripts that contain such a word but download nothing, with the reason found in review.
const REVIEWED: &[(&str, &str)] = &[
    (
        "ort-sys",
        "downloads behind the feature `download-binaries`, which is off: the library is loaded at run time",
    ),
    ("rmcp", "asks a local git for the current commit; works without it"),
    ("wasm-bindgen-shared", "the same; it is not part of our builds"),
];

/// The text of a build script and its modules.
fn build_script(path: &Path) -> String {
    let folder = path.parent().unwrap();
    let mut files = vec![path.to_owned()];
    let mut folders: Vec<PathBuf> =
        if folder.ends_with("build") { vec![folder.to_owned()] } else { vec![folder.join("build")] };
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else if entry.extension().is_some_and(|extension| extension == "rs") {
                files.push(entry);
            }
        }
    }
    files.iter().map(|file| fs::read_to_string(file).unwrap()).collect()
}

#[test]
fn no_build_script_downloads() {
    let metadata: Value =
        serde_json::from_str(&run_successfully("cargo", &["metadata", "--format-version", "1", "--locked"]))
            .unwrap();
    let list = |value: &'_ Value| value.as_array().unwrap().clone();
    let packages: HashMap<String, Value> = list(&metadata["packages"])
        .into_iter()
        .map(|package| (package["id"].as_str().unwrap().to_owned(), package))
        .collect();
    let nodes: HashMap<String, Value> = list(&metadata["resolve"]["nodes"])
        .into_iter()
        .map(|node| (node["id"].as_str().unwrap().to_owned(), node))
        .collect();
    // Dependencies of these kinds. A package is built by its build dependencies and all that these use.
    let dependencies = |id: &str, kinds: &[Value]| -> Vec<String> {
        let deps = list(&nodes[id]["deps"]).into_iter();
        let matching =
            deps.filter(|dep| list(&dep["dep_kinds"]).iter().any(|kind| kinds.contains(&kind["kind"])));
        matching.map(|dep| dep["pkg"].as_str().unwrap().to_owned()).collect()
    };
    let (mut violations, mut unused) =
        (Vec::new(), REVIEWED.iter().map(|(name, _)| *name).collect::<BTreeSet<_>>());
    let mut scripts = 0;
    for (id, package) in &packages {
        let targets = list(&package["targets"]);
        let Some(script) =
            targets.iter().find(|target| list(&target["kind"]).contains(&"custom-build".into()))
        else {
            continue;
        };
        scripts += 1;
        let name = package["name"].as_str().unwrap();
        let (mut builders, mut pending) = (BTreeSet::new(), dependencies(id, &["build".into()]));
        while let Some(next) = pending.pop() {
            if builders.insert(next.clone()) {
                pending.extend(dependencies(&next, &[Value::Null, "build".into()]));
            }
        }
        let built_by = builders.iter().map(|id| packages[id]["name"].as_str().unwrap());
        violations.extend(
            built_by
                .filter(|builder| NETWORK_CRATES.contains(builder))
                .map(|builder| format!("{name} is built by {builder}, which uses the network")),
        );
        let text = build_script(Path::new(script["src_path"].as_str().unwrap()));
        let words: Vec<&&str> = DOWNLOAD_WORDS.iter().filter(|word| text.contains(**word)).collect();
        if !words.is_empty() && !unused.remove(name) {
            violations.push(format!(
                "the build script of {name} contains {words:?}; review it, then list it as reviewed"
            ));
        }
    }
    assert!(scripts > 50, "only {scripts} build scripts were found");
    violations.extend(
        unused.into_iter().map(|name| format!("{name} is listed as reviewed but contains no such word")),
    );
    // ort-sys must be built without its download and linking features.
    let ort = nodes.iter().find(|(id, _)| packages[*id]["name"] == "ort-sys").unwrap().1;
    let features: Vec<Value> = list(&ort["features"]);
    assert!(!features.iter().any(|feature| feature.as_str().unwrap().contains("download")), "{features:?}");
    assert!(features.contains(&"disable-linking".into()), "{features:?}");
    assert!(violations.is_empty(), "\n{}", violations.join("\n"));
}

fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// Checksums of the runtime asset files, by file name.
fn assets() -> BTreeMap<String, String> {
    let manifest = read_toml("models/manifest.toml");
    let mut files = BTreeMap::new();
    for asset in manifest["asset"].as_array().unwrap() {
        let wheels = asset["wheel"].as_array().unwrap();
        assert!(!wheels.is_empty(), "{asset}");
        for wheel in wheels {
            let text = |key: &str| wheel[key].as_str().unwrap().to_owned();
            assert!(is_sha256(&text("sha256")), "{wheel}");
            assert!(wheel["bytes"].as_integer().is_some_and(|bytes| bytes > 0), "{wheel}");
            assert_eq!(files.insert(text("file"), text("sha256")), None, "{wheel} occurs twice");
        }
    }
    files
}

#[test]
fn everything_downloaded_has_a_checksum() {
    assert!(assets().len() >= 10);
    for package in read_toml("Cargo.lock")["package"].as_array().unwrap() {
        let is_external = !package["name"].as_str().unwrap().starts_with("pairofcleats");
        let checksum = package.get("checksum").and_then(toml::Value::as_str);
        assert_eq!(checksum.is_some_and(is_sha256), is_external, "{package}");
    }
    for entry in fs::read_dir(root().join("tests/clients/python")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "txt") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap().replace("\\\n", " ");
        for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
            assert!(line.contains("==") && line.contains("--hash=sha256:"), "{}: {line}", path.display());
        }
    }
    let dockerfile = fs::read_to_string(root().join("Dockerfile")).unwrap();
    for line in dockerfile.lines().filter(|line| line.starts_with("ADD ")) {
        assert!(!line.contains("http"), "{line}");
    }
}

#[test]
fn the_bill_of_materials_lists_every_crate_and_asset() {
    let bom = run_successfully(root().join(".ci/sbom").to_str().unwrap(), &[]);
    assert_eq!(
        bom,
        run_successfully(root().join(".ci/sbom").to_str().unwrap(), &[]),
        "the same commit gives the same bill of materials"
    );
    let bom: Value = serde_json::from_str(&bom).unwrap();
    let schemas = cyclonedx_schemas();
    let schema = |name: &str| -> Value {
        serde_json::from_slice(&fs::read(schemas.join(format!("{name}.SNAPSHOT.schema.json"))).unwrap())
            .unwrap()
    };
    let mut registry = jsonschema::Registry::new();
    for part in ["spdx", "jsf-0.82"] {
        let id = format!("http://cyclonedx.org/schema/{part}.SNAPSHOT.schema.json");
        registry = registry.add(id, schema(part)).unwrap();
    }
    let registry = registry.prepare().unwrap();
    let validator = jsonschema::options().with_registry(&registry).build(&schema("bom-1.6")).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(&bom).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "\n{}", errors.join("\n"));

    let components = bom["components"].as_array().unwrap();
    let sha256 =
        |component: &Value| component["hashes"][0]["content"].as_str().unwrap_or_default().to_owned();
    let crates: BTreeMap<&str, &Value> = components
        .iter()
        .filter_map(|component| Some((component["purl"].as_str()?.strip_prefix("pkg:cargo/")?, component)))
        .filter(|(key, _)| !key.starts_with("pairofcleats-"))
        .collect();
    let lock = read_toml("Cargo.lock");
    let locked: Vec<&toml::Value> = lock["package"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|package| package.get("source").is_some())
        .collect();
    assert_eq!(crates.len(), locked.len());
    for package in locked {
        let key = format!("{}@{}", package["name"].as_str().unwrap(), package["version"].as_str().unwrap());
        let component = crates.get(key.as_str()).unwrap_or_else(|| panic!("{key} is missing"));
        assert_eq!(sha256(component), package["checksum"].as_str().unwrap(), "{key}");
    }
    for (is_required, name) in
        [(true, "sqlx-postgres"), (true, "tree-sitter"), (false, "proptest"), (false, "cc")]
    {
        let (_, found) = crates.iter().find(|(key, _)| key.starts_with(&format!("{name}@"))).unwrap();
        assert_eq!(found["scope"] == "required", is_required, "{name}");
    }
    let parts = || components.iter().filter_map(|component| component["components"].as_array()).flatten();
    let files: BTreeMap<String, String> = parts()
        .filter(|part| part["type"] == "file")
        .map(|part| (part["name"].as_str().unwrap().to_owned(), sha256(part)))
        .collect();
    assert_eq!(files, assets());
    for program in ["PostgreSQL", "pgvector"] {
        assert!(
            parts().any(|part| part["name"] == program && part["version"].is_string()),
            "{program} is missing"
        );
    }
}

/// Each test that SECURITY.md names as proof, as `path: test`, exists in that file.
#[test]
fn tests_named_by_the_threat_model_exist() {
    let page = fs::read_to_string(root().join("SECURITY.md")).unwrap();
    let mut proofs = 0;
    let mut violations = Vec::new();
    for quoted in page.split('`').skip(1).step_by(2) {
        let Some((path, test)) = quoted.split_once(".rs: ") else { continue };
        proofs += 1;
        let text = fs::read_to_string(root().join(format!("{path}.rs"))).unwrap_or_default();
        let attributes = r"#\[(?:tokio::)?test[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*(?:async )?fn ";
        let is_test = Regex::new(&format!(r"{attributes}{test}\(")).unwrap().is_match(&text);
        // Property tests are inside a macro.
        if !is_test && !text.contains(&format!("        fn {test}(")) {
            violations.push(format!("SECURITY.md: {path}.rs has no test {test}"));
        }
    }
    assert!(proofs > 30, "only {proofs} proofs were found");
    assert!(violations.is_empty(), "\n{}", violations.join("\n"));
}
