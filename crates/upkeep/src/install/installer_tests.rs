//! Installations from small generated wheels, and one from the real wheels.

use std::fs;
use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::super::convert;
use super::super::test_home::{default_settings, install_for_tests, test_home};
use super::super::verify::remove_damaged;
use super::super::{AssetState, verify_assets};
use super::*;
use contract::ErrorCode;
use contract::config::Variant;

/// A home and a folder with one small wheel, and a manifest that names it.
struct TestInstallation {
    dir: tempfile::TempDir,
    manifest: Manifest,
    settings: Assets,
    layout: Layout,
}

impl TestInstallation {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let from = dir.path().join("from");
        fs::create_dir(&from).unwrap();
        let wheel = from.join("tool-1-py3-none-any.whl");
        let mut writer = ZipWriter::new(File::create(&wheel).unwrap());
        for (name, content) in
            [("tool/bin/run", "#!/bin/sh\n"), ("tool/data", "0123456789"), ("tool/other", "x")]
        {
            writer.start_file(name, SimpleFileOptions::default()).unwrap();
            writer.write_all(content.as_bytes()).unwrap();
        }
        writer.finish().unwrap();
        let sha256 = platform::sha256::digest_hex(&fs::read(&wheel).unwrap());
        let manifest = toml::from_str(&format!(
            "[[asset]]\nid = 'tool'\ntitle = 'A tool'\nlicence = 'MIT'\npackage = 'tool'\nversion = '1'\n\
             unpack = ['tool/{{bin/run,data}}']\nrequired = ['tool/bin/run']\nbytes_max = 1000\n\
             [[asset.wheel]]\nplatform = 'any'\ntag = 'any'\nfile = 'tool-1-py3-none-any.whl'\n\
             sha256 = '{sha256}'\nbytes = 500\n"
        ));
        let layout = Layout::new(dir.path().join("home"));
        Self { dir, manifest: manifest.unwrap(), settings: default_settings(), layout }
    }

    fn from(&self) -> PathBuf {
        self.dir.path().join("from")
    }

    fn wheel(&self) -> PathBuf {
        self.from().join("tool-1-py3-none-any.whl")
    }

    /// Installs the tool from the folder or with pip. Returns the folder of the tool and whether it was installed
    /// before.
    fn ensure(&self, from_folder: bool) -> Result<(PathBuf, bool), Fault> {
        let events = Mutex::new(Vec::new());
        let on_event = |event| events.lock().unwrap().push(event);
        let folder = self.from();
        let installer = Installer {
            manifest: &self.manifest,
            platform: "linux-x86_64".to_owned(),
            layout: &self.layout,
            settings: &self.settings,
            from: from_folder.then_some(folder.as_path()),
            // Without the pip settings of this machine.
            environment: Some(Environment::of(&[("PIP_CONFIG_FILE", "/dev/null")])),
            models: None,
            may_install: true,
            cancelled: &|| false,
            on_event: &on_event,
        };
        let target = installer.target("tool")?;
        installer.ensure(&target)?;
        let last = events.lock().unwrap().pop();
        match last {
            Some(AssetEvent::Done { cached, .. }) => Ok((target.dir, cached)),
            other => panic!("the last event is {other:?}"),
        }
    }
}

#[test]
fn installs_the_selected_files_once() {
    let installation = TestInstallation::new();
    let (dir, cached) = installation.ensure(true).unwrap();
    assert!(!cached && dir.join("tool/bin/run").is_file() && !dir.join("tool/other").exists());
    assert!(installation.ensure(true).unwrap().1);
    let left: Vec<_> = fs::read_dir(installation.layout.runtime()).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "nothing is left staging: {left:?}");
}

#[test]
fn repairs_missing_and_truncated_files_from_the_kept_download() {
    let installation = TestInstallation::new();
    let (dir, _) = installation.ensure(true).unwrap();
    fs::remove_file(installation.wheel()).unwrap();
    for damage in
        [|path: &Path| fs::remove_file(path).unwrap(), |path: &Path| fs::write(path, "012").unwrap()]
    {
        damage(&dir.join("tool/data"));
        assert!(!installation.ensure(true).unwrap().1);
        assert_eq!(fs::read(dir.join("tool/data")).unwrap(), b"0123456789");
    }
}

#[test]
fn a_wrong_checksum_is_refused_and_nothing_is_installed_or_kept() {
    let installation = TestInstallation::new();
    let mut bytes = fs::read(installation.wheel()).unwrap();
    bytes.push(0);
    fs::write(installation.wheel(), bytes).unwrap();
    let fault = installation.ensure(true).unwrap_err();
    assert_eq!(fault.code, ErrorCode::DownloadVerifyFailed);
    assert!(fault.hint.is_some() && fault.details.is_some());
    assert!(!installation.layout.runtime().exists());
    assert!(!installation.layout.downloads().join("tool-1-py3-none-any.whl").exists());
}

#[test]
fn a_damaged_kept_download_is_replaced() {
    let installation = TestInstallation::new();
    let kept = installation.layout.downloads().join("tool-1-py3-none-any.whl");
    fs::create_dir_all(installation.layout.downloads()).unwrap();
    fs::write(&kept, b"half").unwrap();
    installation.ensure(true).unwrap();
    assert_eq!(fs::read(kept).unwrap(), fs::read(installation.wheel()).unwrap());
}

#[test]
fn without_pip_or_file_the_remedy_names_the_folder_option_and_the_file() {
    let mut installation = TestInstallation::new();
    installation.settings.python = "no-such-python".to_owned();
    let by_pip = installation.ensure(false).unwrap_err();
    fs::remove_file(installation.wheel()).unwrap();
    let by_folder = installation.ensure(true).unwrap_err();
    for fault in [by_pip, by_folder] {
        assert_eq!(fault.code, ErrorCode::CapabilityMissing);
        let hint = fault.hint.unwrap();
        assert!(hint.contains("bootstrap --from DIR") && hint.contains("tool-1-py3-none-any.whl"), "{hint}");
    }
}

#[test]
fn a_failing_pip_is_quoted() {
    use std::os::unix::fs::PermissionsExt;
    let mut installation = TestInstallation::new();
    let python = installation.dir.path().join("python");
    fs::write(&python, "#!/bin/sh\necho 'ERROR: No matching distribution' >&2\nexit 1\n").unwrap();
    fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).unwrap();
    installation.settings.python = python.to_string_lossy().into_owned();
    let fault = installation.ensure(false).unwrap_err();
    assert_eq!(fault.code, ErrorCode::CapabilityMissing);
    assert!(fault.message.contains("No matching distribution"), "{}", fault.message);
}

#[test]
fn concurrent_calls_install_once() {
    let installation = TestInstallation::new();
    let fresh = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                if !installation.ensure(true).unwrap().1 {
                    fresh.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(fresh.into_inner(), 1);
}

#[test]
fn configured_files_take_precedence_and_missing_ones_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let mut settings = default_settings();
    let layout = Layout::new(dir.path().join("home"));
    let write_file = |name: &str| {
        fs::write(dir.path().join(name), name).unwrap();
        dir.path().join(name)
    };
    settings.ort_dylib_path = Some(write_file("libonnxruntime.so"));
    settings.model_dir = Some(dir.path().to_path_buf());
    let selection = AssetSelection { postgres: false, embedding: true };
    let fault = install_assets(&layout, &settings, selection, None, &|| false, &|_| ()).unwrap_err();
    assert_eq!(fault.code, ErrorCode::CapabilityMissing);
    assert!(fault.hint.unwrap().contains("assets.model_dir"));

    let (onnx, tokenizer) = (write_file(convert::GRAPH), write_file(convert::TOKENIZER));
    let embedding =
        install_assets(&layout, &settings, selection, None, &|| false, &|_| ()).unwrap().embedding.unwrap();
    assert_eq!((embedding.model.onnx, embedding.model.tokenizer), (onnx, tokenizer));
    assert_eq!(embedding.model.variant, "custom");
    assert!(!layout.home().exists(), "nothing is installed");
}

#[test]
fn installed_assets_installs_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let layout = Layout::new(dir.path().join("home"));
    let selection = AssetSelection { postgres: true, embedding: true };
    let fault = installed_assets(&layout, &default_settings(), selection).unwrap_err();
    assert_eq!(fault.code, ErrorCode::CapabilityMissing);
    assert!(fault.hint.unwrap().contains("bootstrap"));
    assert!(!layout.home().exists());
    let nothing = AssetSelection { postgres: false, embedding: false };
    assert_eq!(
        installed_assets(&layout, &default_settings(), nothing).unwrap(),
        InstalledAssets { postgres: None, embedding: None }
    );
}

#[test]
fn the_real_assets_run() {
    let selection = AssetSelection { postgres: true, embedding: true };
    let installed = install_for_tests(selection, Variant::Auto).unwrap();
    let postgres = installed.postgres.unwrap();
    for file in ["bin/postgres", "bin/initdb", "share/postgresql/extension/vector.control"] {
        assert!(postgres.join(file).is_file(), "{file}");
    }
    let version = std::process::Command::new(postgres.join("bin/initdb")).arg("--version").output().unwrap();
    assert!(String::from_utf8_lossy(&version.stdout).contains("18."), "{version:?}");
    assert!(installed.embedding.unwrap().ort_dylib.is_file());
    let reports = verify_assets(&test_home(), &default_settings());
    assert!(reports.iter().all(|asset| asset.state == AssetState::Intact && asset.bytes > 0), "{reports:?}");
}

#[test]
fn both_graphs_are_converted_from_a_folder_and_damage_is_repaired() {
    let selection = AssetSelection { postgres: false, embedding: true };
    install_for_tests(selection, Variant::Auto).unwrap();
    let from = test_home().downloads();
    let dir = tempfile::tempdir().unwrap();
    let layout = Layout::new(dir.path().join("home"));
    let manifest = Manifest::builtin().unwrap();
    for variant in [Variant::Int8, Variant::Fp32] {
        let settings = Assets { python: "no-such-python".to_owned(), variant, ..default_settings() };
        let model = || {
            let installed =
                install_assets(&layout, &settings, selection, Some(&from), &|| false, &|_| ()).unwrap();
            installed.embedding.unwrap().model
        };
        let intact = model();
        let graphs = &manifest.find(&intact.id).unwrap().model.as_ref().unwrap().graphs;
        let sha256 = |file: &Path| platform::sha256::digest_hex(&fs::read(file).unwrap());
        assert_eq!(sha256(&intact.onnx), graphs[&intact.variant].sha256);

        let mut bytes = fs::read(&intact.onnx).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&intact.onnx, bytes).unwrap();
        let states: Vec<_> = verify_assets(&layout, &settings).iter().map(|asset| asset.state).collect();
        assert_eq!(states, [AssetState::Absent, AssetState::Intact, AssetState::Damaged]);
        assert_eq!(remove_damaged(&layout, &settings).unwrap(), std::slice::from_ref(&intact.id));
        assert_eq!(model(), intact);
        assert_eq!(sha256(&intact.onnx), graphs[&intact.variant].sha256);
    }
}

#[test]
fn a_folder_to_install_from_must_exist() {
    let installation = TestInstallation::new();
    for (folder, why) in
        [(installation.dir.path().join("nope"), "does not exist"), (installation.wheel(), "is not a folder")]
    {
        let selection = AssetSelection { postgres: true, embedding: false };
        let (layout, settings) = (&installation.layout, &installation.settings);
        let fault =
            install_assets(layout, settings, selection, Some(&folder), &|| false, &|_| ()).unwrap_err();
        assert!(fault.message.contains(why), "{fault}");
    }
}

#[test]
fn a_folder_that_cannot_be_created_is_named_to_callers_on_this_machine() {
    let error = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
    let fault = faults::folder_not_created(Path::new("/closed/home"), error);
    assert_eq!((fault.code, fault.retryable), (ErrorCode::StorageUnavailable, false));
    assert!(!fault.message.contains("/closed") && fault.message.contains("permission denied"), "{fault}");
    let hint = fault.local_hint.unwrap();
    assert!(hint.contains("/closed/home") && hint.contains("--home"), "{hint}");
}
