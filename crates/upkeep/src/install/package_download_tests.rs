//! Downloads of a small wheel from a server on loopback, with good and bad answers of mirrors and proxies.

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::super::installer::Installer;
use super::super::manifest::Manifest;
use super::super::pip_settings::Environment;
use super::super::test_home::default_settings;
use contract::config::{Assets, Layout};
use contract::{ErrorCode, Fault};

#[path = "../../../../tests/it/file_server.rs"]
mod file_server;
use file_server::{FileServer, ServedFile};

const WHEEL: &str = "big_tool-1-py3-none-any.whl";
/// Path of the project's page on the index.
const PROJECT: &str = "/simple/big-tool/";
/// `me:s3cret` in lower-case base64, as the server records it.
const BASIC: &str = "basic bwu6cznjcmv0";

/// A home, a wheel that its manifest names, and a server.
struct Index {
    dir: tempfile::TempDir,
    server: FileServer,
    wheel: Vec<u8>,
    sha256: String,
}

impl Index {
    /// Starts a server with the wheel and a page that lists it.
    async fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(WHEEL);
        let mut writer = ZipWriter::new(File::create(&path).unwrap());
        let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        writer.start_file("tool/data", stored).unwrap();
        let data: Vec<u8> = (0..1_200_000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        writer.write_all(&data).unwrap();
        writer.finish().unwrap();
        let wheel = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let sha256 = platform::sha256::digest_hex(&wheel);
        let index = Self { dir, server: FileServer::start().await, wheel, sha256 };
        index.serve_wheel(index.good());
        index.serve_page(
            "text/html",
            &format!("<a href='/files/{WHEEL}#sha256={}'>{WHEEL}</a>", index.sha256),
        );
        index
    }

    fn good(&self) -> ServedFile {
        ServedFile::with_etag(self.wheel.clone(), "one")
    }

    fn serve_wheel(&self, file: ServedFile) {
        self.server.put(&format!("/files/{WHEEL}"), file);
    }

    fn serve_page(&self, content_type: &'static str, body: &str) {
        let page = ServedFile { content_type: Some(content_type), ..ServedFile::new(body) };
        self.server.put(PROJECT, page);
    }

    fn index_url(&self) -> String {
        format!("{}/simple", self.server.url)
    }

    fn kept(&self) -> PathBuf {
        self.dir.path().join("home/downloads").join(WHEEL)
    }

    fn part_bytes(&self) -> Option<u64> {
        fs::metadata(self.kept().with_added_extension("part")).ok().map(|metadata| metadata.len())
    }

    /// Installs with `PIP_INDEX_URL` and these variables, without other attempts.
    async fn install(&self, variables: &[(&str, &str)]) -> Result<(), Fault> {
        let url = self.index_url();
        let base = [("PIP_CONFIG_FILE", "/dev/null"), ("PIP_INDEX_URL", &url), ("PIP_RETRIES", "0")];
        let variables: Vec<_> = base.iter().chain(variables).copied().collect();
        self.install_with(&variables, default_settings(), &|| false).await
    }

    async fn install_with(
        &self,
        variables: &[(&str, &str)],
        settings: Assets,
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), Fault> {
        let layout = Layout::new(self.dir.path().join("home"));
        self.install_in(layout, variables, settings, cancelled).await
    }

    async fn install_in(
        &self,
        layout: Layout,
        variables: &[(&str, &str)],
        settings: Assets,
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), Fault> {
        let manifest: Manifest = toml::from_str(&format!(
            "[[asset]]\nid = 'tool'\ntitle = 'A tool'\nlicence = 'MIT'\npackage = 'Big.Tool'\nversion = '1'\n\
             unpack = ['tool/data']\nrequired = ['tool/data']\nbytes_max = 2000000\n\
             [[asset.wheel]]\nplatform = 'any'\ntag = 'any'\nfile = '{WHEEL}'\nsha256 = '{}'\nbytes = {}\n",
            self.sha256,
            self.wheel.len()
        ))
        .unwrap();
        let settings = Assets { python: "no-such-python".to_owned(), ..settings };
        let environment = Environment::of(variables);
        tokio::task::block_in_place(|| {
            let read_only = Installer::read_only(&manifest, &layout, &settings);
            let installer =
                Installer { may_install: true, environment: Some(environment), cancelled, ..read_only };
            installer.ensure(&installer.target("tool")?).map(|_| ())
        })
    }

    /// Checks that the wheel is installed and kept, and that nothing else is left; removes it for the next case.
    fn assert_installed(&self) {
        assert_eq!(fs::read(self.kept()).unwrap(), self.wheel);
        let mut left: Vec<_> = fs::read_dir(self.kept().parent().unwrap())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, [".lock", WHEEL]);
        fs::remove_dir_all(self.dir.path().join("home")).unwrap();
    }

    /// Checks that installing fails with this code and text, and installs nothing.
    async fn assert_refused(&self, variables: &[(&str, &str)], code: ErrorCode, text: &str) -> Fault {
        let fault = self.install(variables).await.unwrap_err();
        assert_eq!(fault.code, code, "{fault:?}");
        assert!(fault.message.contains(text), "{}", fault.message);
        assert!(fault.hint.as_ref().unwrap().contains("bootstrap --from DIR"), "{fault:?}");
        assert!(!self.kept().exists() && !self.dir.path().join("home/runtime").exists());
        fault
    }

    fn heads(&self) -> Vec<String> {
        self.server.request_heads()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn both_formats_of_an_index_lead_to_the_file_also_by_redirects() {
    let index = Index::start().await;
    index.install(&[]).await.unwrap();
    assert!(
        index.heads()[0].starts_with("get /simple/big-tool/ ") && index.heads()[0].contains("simple.v1+json")
    );
    index.assert_installed();

    index.serve_page(
        "application/vnd.pypi.simple.v1+json",
        &format!(
            r#"{{"files":[{{"filename":"{WHEEL}","url":"../../moved","hashes":{{"sha256":"{}"}}}}]}}"#,
            index.sha256
        ),
    );
    index.server.put("/moved", ServedFile::redirect(format!("/files/{WHEEL}")));
    index.server.put("/other/big-tool/", ServedFile::redirect(PROJECT));
    let elsewhere = format!("{}/other/", index.server.url);
    index.install(&[("PIP_INDEX_URL", &elsewhere)]).await.unwrap();
    index.assert_installed();

    index.server.put("/moved", ServedFile::redirect("http://example.org/x"));
    index
        .assert_refused(&[], ErrorCode::CapabilityMissing, "redirects to an address that is not allowed")
        .await;
    let elsewhere = format!("<a href='http://example.org/{WHEEL}'>");
    index.serve_page("text/html", &elsewhere);
    index.assert_refused(&[], ErrorCode::CapabilityMissing, "at an address that is not allowed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_download_is_resumed_by_the_next_attempt_and_by_the_next_run() {
    let index = Index::start().await;
    // Each connection brings 300,000 bytes, which counts as progress.
    index.serve_wheel(ServedFile { cut_at: Some(300_000), ..index.good() });
    index.install(&[("PIP_RETRIES", "1")]).await.unwrap();
    let ranges = index.heads().iter().filter(|head| head.contains("range: bytes=")).count();
    assert!(ranges >= 3, "{:?}", index.heads());
    index.assert_installed();

    index.assert_cut_then_resumed(index.good()).await;
    index.assert_cut_then_resumed(ServedFile::new(index.wheel.clone())).await;
    index.assert_cut_then_resumed(ServedFile { ignores_ranges: true, ..index.good() }).await;
    index.assert_cut_then_resumed(ServedFile::with_etag(index.wheel.clone(), "two")).await;
}

impl Index {
    async fn assert_cut_then_resumed(&self, then: ServedFile) {
        self.serve_wheel(ServedFile { cut_at: Some(500_000), ..self.good() });
        let fault = self.assert_refused(&[], ErrorCode::CapabilityMissing, "could not be downloaded").await;
        assert!(fault.retryable);
        let part = self.part_bytes().unwrap();
        assert!(part > 100_000 && part <= 500_000, "{part}");
        self.serve_wheel(then);
        self.install(&[]).await.unwrap();
        assert!(self.heads().last().unwrap().contains(&format!("range: bytes={part}-")));
        self.assert_installed();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_file_is_refused_and_a_damaged_part_is_replaced() {
    let index = Index::start().await;
    let mut altered = index.wheel.clone();
    altered[600_000] ^= 1;
    index.serve_wheel(ServedFile::with_etag(altered.clone(), "one"));
    let fault = index.assert_refused(&[], ErrorCode::DownloadVerifyFailed, "its sha256 differs").await;
    assert!(fault.details.unwrap()["actual"].is_string());
    assert_eq!(index.part_bytes(), None, "a wrong file is not kept");

    // The first half comes from an altered file, the rest from the right one.
    index.serve_wheel(ServedFile { cut_at: Some(900_000), ..ServedFile::with_etag(altered, "one") });
    index.assert_refused(&[], ErrorCode::CapabilityMissing, "could not be downloaded").await;
    index.serve_wheel(index.good());
    index.install(&[]).await.unwrap();
    assert!(!index.heads().last().unwrap().contains("range:"), "the whole file is fetched in the end");
    index.assert_installed();

    index.serve_page("text/html", &format!("<a href='/files/{WHEEL}#sha256={}'>", "0".repeat(64)));
    index.assert_refused(&[], ErrorCode::DownloadVerifyFailed, "lists another").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_instead_of_files_and_wrong_sizes_are_refused_with_what_came() {
    let index = Index::start().await;
    let login = "\n\n<html>\u{1b}]0;x\u{7}<title>Please log in</title>".to_owned();
    for no_length in [false, true] {
        let page = ServedFile {
            content_type: Some("text/html; charset=utf-8"),
            no_length,
            ..ServedFile::new(login.clone())
        };
        index.serve_wheel(page);
        let fault = index.assert_refused(&[], ErrorCode::DownloadVerifyFailed, "Please log in").await;
        assert!(!fault.message.chars().any(char::is_control), "{:?}", fault.message);
    }
    let longer: Vec<u8> = index.wheel.iter().copied().chain(std::iter::repeat_n(0, 5_000_000)).collect();
    for no_length in [false, true] {
        index.serve_wheel(ServedFile { no_length, ..ServedFile::new(longer.clone()) });
        index.assert_refused(&[], ErrorCode::DownloadVerifyFailed, "is not the expected file").await;
        assert_eq!(index.part_bytes(), None);
    }
    index.serve_wheel(index.good());
    index.serve_page("text/html", &login);
    let fault = index
        .assert_refused(&[], ErrorCode::CapabilityMissing, "lists no files; it begins with: <html>")
        .await;
    assert!(fault.hint.unwrap().contains("proxy"));
    index.serve_page("text/html", "<a href='/files/big_tool-2-py3-none-any.whl'>x</a>");
    index.assert_refused(&[], ErrorCode::CapabilityMissing, "does not have big_tool-1").await;
    index.serve_page("text/html", &"<p>".repeat(3 << 20));
    index.assert_refused(&[], ErrorCode::CapabilityMissing, "larger than the limit").await;
    let nothing = format!("{}/nothing", index.server.url);
    index.assert_refused(&[("PIP_INDEX_URL", &nothing)], ErrorCode::CapabilityMissing, "status 404").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn silence_and_trickles_end_and_a_cancelled_download_is_kept() {
    let index = Index::start().await;
    index.serve_wheel(ServedFile { hang_at: Some(400_000), ..index.good() });
    let silent =
        index.assert_refused(&[("PIP_TIMEOUT", "0.3")], ErrorCode::CapabilityMissing, "sent nothing").await;
    assert!(silent.retryable);

    index.serve_wheel(ServedFile { drips: true, ..index.good() });
    let url = index.index_url();
    let variables = [("PIP_CONFIG_FILE", "/dev/null"), ("PIP_INDEX_URL", &*url)];
    let short = Assets { download_ms: 500, ..default_settings() };
    let fault = index.install_with(&variables, short, &|| false).await.unwrap_err();
    assert_eq!(fault.code, ErrorCode::ToolTimeout, "{fault:?}");

    index.serve_wheel(ServedFile { hang_at: Some(400_000), ..index.good() });
    let cancelled = AtomicBool::new(false);
    let stop = || cancelled.load(Ordering::SeqCst);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while index.part_bytes().is_none_or(|bytes| bytes < 300_000) {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            cancelled.store(true, Ordering::SeqCst);
        });
        let install = index.install_with(&variables, default_settings(), &stop);
        let installed = tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(install));
        assert_eq!(installed.unwrap_err().code, ErrorCode::Cancelled);
    });
    assert!(index.part_bytes().unwrap() >= 300_000, "the part is kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_is_reported_before_anything_is_asked() {
    let index = Index::start().await;
    let url = index.index_url();
    let variables = [("PIP_CONFIG_FILE", "/dev/null"), ("PIP_INDEX_URL", &*url)];
    let layout = Layout::new(index.dir.path().join("home")).with_disk_free_bytes_min(1 << 60);
    let fault = index.install_in(layout, &variables, default_settings(), &|| false).await.unwrap_err();
    assert_eq!(fault.code, ErrorCode::StorageUnavailable);
    assert!(fault.message.contains("MiB are needed"), "{}", fault.message);
    assert!(index.heads().is_empty() && index.part_bytes().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn certificates_that_cannot_be_read_are_named_without_their_folder() {
    let index = Index::start().await;
    let file = index.dir.path().join("authority.pem");
    fs::write(&file, "no certificate").unwrap();
    for variable in ["PIP_CERT", "PIP_CLIENT_CERT"] {
        let fault = index.install(&[(variable, file.to_str().unwrap())]).await.unwrap_err();
        assert!(fault.message.contains("authority.pem cannot be used"), "{}", fault.message);
        assert!(!fault.message.contains(index.dir.path().to_str().unwrap()), "{}", fault.message);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_go_to_their_host_only_and_stay_out_of_errors() {
    let index = Index::start().await;
    let guarded = |file: ServedFile| ServedFile { authorization: Some(BASIC.to_owned()), ..file };
    let page = format!("<a href='/files/{WHEEL}'>");
    let guarded_page = ServedFile { content_type: Some("text/html"), ..ServedFile::new(page.as_str()) };
    index.server.put(PROJECT, guarded(guarded_page.clone()));
    index.serve_wheel(guarded(index.good()));
    let fault = index.assert_refused(&[], ErrorCode::CapabilityMissing, "status 401").await;
    assert!(fault.hint.unwrap().contains("credentials"));
    let with_user = index.index_url().replace("http://", "http://me:s3cret@");
    index.install(&[("PIP_INDEX_URL", &with_user)]).await.unwrap();
    index.assert_installed();

    let netrc = index.dir.path().join("netrc");
    fs::write(&netrc, "machine 127.0.0.1\n login me\n password s3cret\n").unwrap();
    index.install(&[("NETRC", netrc.to_str().unwrap())]).await.unwrap();
    index.assert_installed();

    // The file is on another port, which gets no credentials.
    let other = FileServer::start().await;
    let moved = other.put("/w.whl", index.good());
    index.serve_wheel(guarded(ServedFile::redirect(moved)));
    index.install(&[("PIP_INDEX_URL", &with_user)]).await.unwrap();
    assert!(!other.request_heads()[0].contains("authorization"), "{:?}", other.request_heads());
    index.assert_installed();

    let wrong = with_user.replace("s3cret", "wr0ng");
    let fault =
        index.assert_refused(&[("PIP_INDEX_URL", &wrong)], ErrorCode::CapabilityMissing, "status 401").await;
    assert!(!format!("{fault:?}").contains("wr0ng"), "{fault:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pip_conf_find_links_and_extra_indexes_count() {
    let index = Index::start().await;
    let conf = index.dir.path().join("pip.conf");
    let text = format!(
        "[global]\nindex-url = {}/none\nextra-index-url =\n  {}\nretries = 0\n",
        index.server.url,
        index.index_url()
    );
    fs::write(&conf, text).unwrap();
    let from_file = [("PIP_CONFIG_FILE", conf.to_str().unwrap())];
    index.install_with(&from_file, default_settings(), &|| false).await.unwrap();
    assert!(index.heads()[0].starts_with("get /none/big-tool/ "));
    index.assert_installed();

    let folder = index.dir.path().join("wheels");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join(WHEEL), &index.wheel).unwrap();
    let asked = index.heads().len();
    for place in [folder.to_str().unwrap().to_owned(), format!("file://{}", folder.display())] {
        index.install(&[("PIP_FIND_LINKS", &place), ("PIP_NO_INDEX", "1")]).await.unwrap();
        index.assert_installed();
    }
    assert_eq!(index.heads().len(), asked, "nothing was asked");
    let page = format!("{}{PROJECT}", index.server.url);
    index.install(&[("PIP_FIND_LINKS", &page), ("PIP_NO_INDEX", "1")]).await.unwrap();
    index.assert_installed();

    fs::write(folder.join(WHEEL), b"altered").unwrap();
    let place = folder.to_str().unwrap();
    let forbidden = [("PIP_FIND_LINKS", place), ("PIP_NO_INDEX", "1")];
    index.assert_refused(&forbidden, ErrorCode::DownloadVerifyFailed, "sha256 differs").await;
    index.install(&[("PIP_FIND_LINKS", place)]).await.unwrap();
    index.assert_installed();
    let fault = index
        .assert_refused(&[("PIP_NO_INDEX", "1")], ErrorCode::CapabilityMissing, "`no-index` forbids")
        .await;
    assert!(fault.hint.as_ref().unwrap().starts_with("Unset PIP_NO_INDEX"), "{fault:?}");

    let own = Assets { package_index: Some(index.index_url()), ..default_settings() };
    let others = [("PIP_CONFIG_FILE", "/dev/null"), ("PIP_INDEX_URL", "http://127.0.0.1:1/")];
    index.install_with(&others, own, &|| false).await.unwrap();
    index.assert_installed();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_is_used_and_without_any_setting_the_error_says_what_to_set() {
    let index = Index::start().await;
    // The server answers as a proxy does, to requests with whole URLs.
    let whole = "http://index.invalid";
    let page = format!("<a href='/files/{WHEEL}'>");
    index.server.put(
        &format!("{whole}{PROJECT}"),
        ServedFile { content_type: Some("text/html"), ..ServedFile::new(page) },
    );
    index.server.put(&format!("{whole}/files/{WHEEL}"), index.good());
    let proxy = index.server.url.clone();
    let trusted = [("PIP_INDEX_URL", "http://index.invalid/simple"), ("PIP_TRUSTED_HOST", "index.invalid")];
    for variable in ["PIP_PROXY", "http_proxy", "ALL_PROXY"] {
        index.install(&[&trusted[..], &[(variable, &*proxy)]].concat()).await.unwrap();
        index.assert_installed();
    }
    let fault = index.install(&[trusted[0]]).await.unwrap_err();
    assert!(fault.message.contains("trusted-host"), "{}", fault.message);

    let nothing = [("PIP_CONFIG_FILE", "/dev/null")];
    let fault = index.install_with(&nothing, default_settings(), &|| false).await.unwrap_err();
    assert!(
        fault.message.contains("no setting names a package index, and `no-such-python` does not start"),
        "{}",
        fault.message
    );
    let hint = fault.hint.unwrap();
    for part in ["assets.package_index", "PIP_INDEX_URL", "Python 3 with pip", "bootstrap --from DIR", WHEEL]
    {
        assert!(hint.contains(part), "{hint}");
    }
}
