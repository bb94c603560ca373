//! Downloads are installed completely or not at all, resume where they were interrupted, stay within limits, and come only
//! from permitted addresses.

use std::path::Path;

use contract::{ErrorCode, Fault};
use platform::outbound::{DownloadOutcome, DownloadRequest, download, http_url};
use platform::sha256::digest_hex as sha256;

use crate::file_server::{FileServer, ServedFile};
use crate::loopback::{FakeServer, Reply, refusing_url};

fn request(url: &str) -> DownloadRequest {
    DownloadRequest {
        url: http_url(url).unwrap(),
        bytes_max: 4 << 20,
        expected: None,
        timeout_ms: 20_000,
        redirects_max: 3,
        resume: true,
        etag: None,
        last_modified: None,
        disk_space: platform::disk_space::DiskSpace::default(),
    }
}

async fn download_to(target: &Path, request: &DownloadRequest) -> Result<DownloadOutcome, Fault> {
    download(request, target, &|_, _| ()).await
}

async fn error_code_of(target: &Path, request: &DownloadRequest) -> ErrorCode {
    let fault = download_to(target, request).await.unwrap_err();
    assert!(fault.hint.is_some());
    assert!(!target.exists(), "an incomplete file was installed");
    fault.code
}

fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|i| (i * 31 % 251) as u8).collect()
}

fn names_in(folder: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = names.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn a_complete_file_is_installed_and_progress_is_reported() {
    let (server, folder) = (FileServer::start().await, tempfile::tempdir().unwrap());
    let body = bytes(3 << 20);
    for no_length in [false, true] {
        let page = ServedFile {
            last_modified: Some("Mon, 02 Mar 2026 10:00:00 GMT".into()),
            no_length,
            ..ServedFile::new(body.clone())
        };
        let url = server.put("/file", page);
        let target = folder.path().join("file");
        let progress = std::sync::Mutex::new(Vec::new());
        let fetched =
            download(&request(&url), &target, &|done, total| progress.lock().unwrap().push((done, total)))
                .await
                .unwrap();
        let DownloadOutcome::New { sha256: sum, bytes, etag, last_modified } = fetched else {
            panic!("{fetched:?}")
        };
        assert_eq!((sum, bytes, etag), (sha256(&body), 3 << 20, None));
        assert_eq!(last_modified.unwrap(), "Mon, 02 Mar 2026 10:00:00 GMT");
        assert_eq!(std::fs::read(&target).unwrap(), body);
        assert_eq!(names_in(folder.path()), ["file"]);
        let progress = progress.into_inner().unwrap();
        assert!(progress.len() >= 3 && progress.is_sorted(), "{progress:?}");
        assert_eq!(progress.last().unwrap(), &(3 << 20, Some(3 << 20)));
        assert_eq!(progress[0].1, (!no_length).then_some(3 << 20));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_download_resumes_if_the_file_is_unchanged() {
    let (server, folder) = (FileServer::start().await, tempfile::tempdir().unwrap());
    let target = folder.path().join("file");
    let (old, new) = (bytes(200_000), bytes(150_000).into_iter().rev().collect::<Vec<u8>>());
    let interrupted =
        |body: &Vec<u8>| ServedFile { cut_at: Some(70_000), ..ServedFile::with_etag(body.clone(), "one") };
    let url = server.put("/file", interrupted(&old));
    assert_eq!(error_code_of(&target, &request(&url)).await, ErrorCode::CapabilityMissing);
    let part = std::fs::metadata(folder.path().join("file.part")).unwrap().len();
    assert!(part > 0 && part <= 70_000, "{part}");

    server.put("/file", ServedFile::with_etag(old.clone(), "one"));
    let DownloadOutcome::New { sha256: sum, bytes, .. } = download_to(&target, &request(&url)).await.unwrap()
    else {
        panic!()
    };
    assert_eq!((sum, bytes), (sha256(&old), 200_000));
    assert_eq!(std::fs::read(&target).unwrap(), old);
    assert!(
        server.request_heads().last().unwrap().contains(&format!("range: bytes={part}-")),
        "{:?}",
        server.request_heads()
    );
    assert_eq!(names_in(folder.path()), ["file"]);

    // The file changed meanwhile, so the partial file is discarded.
    std::fs::remove_file(&target).unwrap();
    server.put("/file", interrupted(&old));
    assert_eq!(error_code_of(&target, &request(&url)).await, ErrorCode::CapabilityMissing);
    server.put("/file", ServedFile::with_etag(new.clone(), "two"));
    download_to(&target, &request(&url)).await.unwrap();
    assert_eq!(std::fs::read(&target).unwrap(), new);

    // The caller does not want it resumed.
    std::fs::remove_file(&target).unwrap();
    server.put("/file", interrupted(&old));
    assert_eq!(error_code_of(&target, &request(&url)).await, ErrorCode::CapabilityMissing);
    server.put("/file", ServedFile::with_etag(old.clone(), "one"));
    download_to(&target, &DownloadRequest { resume: false, ..request(&url) }).await.unwrap();
    assert!(!server.request_heads().last().unwrap().contains("range:"));
    assert_eq!(std::fs::read(&target).unwrap(), old);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partial_file_of_another_download_is_not_continued() {
    let (server, folder) = (FileServer::start().await, tempfile::tempdir().unwrap());
    let target = folder.path().join("file");
    let body = bytes(100_000);
    let interrupted = ServedFile { cut_at: Some(50_000), ..ServedFile::with_etag(bytes(90_000), "one") };
    let other = server.put("/other", interrupted.clone());
    assert_eq!(error_code_of(&target, &request(&other)).await, ErrorCode::CapabilityMissing);
    let url = server.put("/file", ServedFile::with_etag(body.clone(), "one"));
    download_to(&target, &request(&url)).await.unwrap();
    assert_eq!(std::fs::read(&target).unwrap(), body, "the partial file of another address was continued");

    // A partial file without a record of its source is ignored, and one longer than the file is discarded.
    std::fs::write(folder.path().join("file.part"), b"stranger").unwrap();
    download_to(&target, &request(&url)).await.unwrap();
    assert_eq!(std::fs::read(&target).unwrap(), body);
    server.put("/file", ServedFile { cut_at: Some(50_000), ..ServedFile::with_etag(body.clone(), "one") });
    std::fs::remove_file(&target).unwrap();
    assert_eq!(error_code_of(&target, &request(&url)).await, ErrorCode::CapabilityMissing);
    std::fs::write(folder.path().join("file.part"), bytes(120_000)).unwrap();
    server.put("/file", ServedFile::with_etag(body.clone(), "one"));
    download_to(&target, &request(&url)).await.unwrap();
    assert_eq!(std::fs::read(&target).unwrap(), body);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unchanged_file_is_not_sent_again() {
    let (server, folder) = (FileServer::start().await, tempfile::tempdir().unwrap());
    let target = folder.path().join("file");
    let dated = Some("Mon, 02 Mar 2026 10:00:00 GMT".to_owned());
    let url = server
        .put("/file", ServedFile { last_modified: dated.clone(), ..ServedFile::with_etag(bytes(10), "one") });
    let by_tag = DownloadRequest { etag: Some("\"one\"".into()), ..request(&url) };
    let by_date = DownloadRequest { last_modified: dated, ..request(&url) };
    for request in [by_tag.clone(), by_date] {
        assert_eq!(download_to(&target, &request).await.unwrap(), DownloadOutcome::NotModified);
        assert!(names_in(folder.path()).is_empty());
    }
    server.put("/file", ServedFile::with_etag(bytes(20), "two"));
    assert!(matches!(download_to(&target, &by_tag).await.unwrap(), DownloadOutcome::New { bytes: 20, .. }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_over_the_limit_is_refused_with_and_without_a_content_length() {
    let (server, folder) = (FileServer::start().await, tempfile::tempdir().unwrap());
    let target = folder.path().join("file");
    for no_length in [false, true] {
        let url =
            server.put("/file", ServedFile { no_length, ..ServedFile::with_etag(bytes(100_001), "one") });
        let request = DownloadRequest { bytes_max: 100_000, ..request(&url) };
        assert_eq!(error_code_of(&target, &request).await, ErrorCode::ArchiveTooLarge);
        assert!(names_in(folder.path()).is_empty());
        download_to(&target, &DownloadRequest { bytes_max: 100_001, ..request }).await.unwrap();
        std::fs::remove_file(&target).unwrap();
    }
    let endless = FakeServer::start(|_| Reply::Endless).await;
    assert_eq!(error_code_of(&target, &request(&endless.url)).await, ErrorCode::ArchiveTooLarge);
}

#[tokio::test(flavor = "multi_thread")]
async fn redirects_are_limited_and_stay_on_permitted_addresses() {
    let (server, folder) = (FileServer::start().await, tempfile::tempdir().unwrap());
    let target = folder.path().join("file");
    server.put("/3", ServedFile::new(b"here".as_slice()));
    for hop in 0..3 {
        server.put(&format!("/{hop}"), ServedFile::redirect(format!("{}", hop + 1)));
    }
    download_to(&target, &request(&format!("{}/0", server.url))).await.unwrap();
    assert_eq!(std::fs::read(&target).unwrap(), b"here");
    std::fs::remove_file(&target).unwrap();
    let short = DownloadRequest { redirects_max: 2, ..request(&format!("{}/0", server.url)) };
    assert_eq!(error_code_of(&target, &short).await, ErrorCode::CapabilityMissing);

    let circle = server.put("/circle", ServedFile::redirect("/circle"));
    let before = server.request_heads().len();
    assert_eq!(error_code_of(&target, &request(&circle)).await, ErrorCode::CapabilityMissing);
    assert_eq!(server.request_heads().len() - before, 4, "one request and three redirects");
    for bad in ["http://example.org/x", "file:///etc/passwd", "ftp://127.0.0.1/x", "http://["] {
        let url = server.put("/bad", ServedFile::redirect(bad));
        let fault = download_to(&target, &request(&url)).await.unwrap_err();
        assert!(fault.message.contains("that is not allowed"), "{bad}: {fault}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn silence_unexpected_answers_and_unreachable_servers_have_different_errors() {
    let (server, folder) = (FileServer::start().await, tempfile::tempdir().unwrap());
    let target = folder.path().join("file");
    for reply in [|| Reply::Silence, || Reply::Drip] {
        let web = FakeServer::start(move |_| reply()).await;
        let request = DownloadRequest { timeout_ms: 300, ..request(&web.url) };
        assert_eq!(error_code_of(&target, &request).await, ErrorCode::ToolTimeout);
    }
    for (url, why) in
        [(format!("{}/none?token=secret", server.url), "status 404"), (refusing_url().await, "no answer")]
    {
        let fault = download_to(&target, &request(&url)).await.unwrap_err();
        assert_eq!(fault.code, ErrorCode::CapabilityMissing);
        assert!(fault.retryable && fault.message.contains(why), "{fault}");
        assert!(!format!("{fault:?}").contains("secret"), "{fault:?}");
    }
    // A server that fails, or that answers 304 or 206 to a plain request.
    for status in [304, 206, 500] {
        let web = FakeServer::start(move |_| Reply::Plain(status, String::new())).await;
        assert_eq!(error_code_of(&target, &request(&web.url)).await, ErrorCode::CapabilityMissing);
    }
    assert_eq!(
        names_in(folder.path()),
        ["file.part", "file.part.from"],
        "from the answer that arrived drop by drop"
    );
}
