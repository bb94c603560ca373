//! Files from outside: whole or not at all, continued where they were cut off, within bounds, and only from where the
//! operator said.

use std::path::Path;

use contract::{ErrorCode, Fault};
use platform::outbound::{Download, Fetched, download, http_url};
use sha2::{Digest, Sha256};

use crate::file_server::{FileServer, Page};
use crate::loopback::{Reply, Web, nobody};

fn of(url: &str) -> Download {
    Download {
        url: http_url(url).unwrap(),
        bytes_max: 4 << 20,
        timeout_ms: 20_000,
        redirects_max: 3,
        resume: true,
        etag: None,
        last_modified: None,
        room: platform::room::Room::default(),
    }
}

async fn to(target: &Path, wanted: &Download) -> Result<Fetched, Fault> {
    download(wanted, target, &|_, _| ()).await
}

async fn refused(target: &Path, wanted: &Download) -> ErrorCode {
    let fault = to(target, wanted).await.unwrap_err();
    assert!(fault.hint.is_some());
    assert!(!target.exists(), "something was put in place");
    fault.code
}

fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|i| (i * 31 % 251) as u8).collect()
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn left(folder: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = names.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_file_is_put_in_place_and_progress_is_told() {
    let (server, folder) = (FileServer::start().await, tempfile::tempdir().unwrap());
    let body = bytes(3 << 20);
    for no_length in [false, true] {
        let page = Page {
            last_modified: Some("Mon, 02 Mar 2026 10:00:00 GMT".into()),
            no_length,
            ..Page::of(body.clone())
        };
        let url = server.put("/file", page);
        let target = folder.path().join("file");
        let told = std::sync::Mutex::new(Vec::new());
        let fetched = download(&of(&url), &target, &|done, total| told.lock().unwrap().push((done, total)))
            .await
            .unwrap();
        let Fetched::New { sha256: sum, bytes, etag, last_modified } = fetched else { panic!("{fetched:?}") };
        assert_eq!((sum, bytes, etag), (sha256(&body), 3 << 20, None));
        assert_eq!(last_modified.unwrap(), "Mon, 02 Mar 2026 10:00:00 GMT");
        assert_eq!(std::fs::read(&target).unwrap(), body);
        assert_eq!(left(folder.path()), ["file"]);
        let told = told.into_inner().unwrap();
        assert!(told.len() >= 3 && told.is_sorted(), "{told:?}");
        assert_eq!(told.last().unwrap(), &(3 << 20, Some(3 << 20)));
        assert_eq!(told[0].1, (!no_length).then_some(3 << 20));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_download_goes_on_where_it_stopped_if_the_file_is_the_same() {
    let (server, folder) = (FileServer::start().await, tempfile::tempdir().unwrap());
    let target = folder.path().join("file");
    let (old, new) = (bytes(200_000), bytes(150_000).into_iter().rev().collect::<Vec<u8>>());
    let cut = |body: &Vec<u8>| Page { cut_at: Some(70_000), ..Page::tagged(body.clone(), "one") };
    let url = server.put("/file", cut(&old));
    assert_eq!(refused(&target, &of(&url)).await, ErrorCode::CapabilityMissing);
    let part = std::fs::metadata(folder.path().join("file.part")).unwrap().len();
    assert!(part > 0 && part <= 70_000, "{part}");

    server.put("/file", Page::tagged(old.clone(), "one"));
    let Fetched::New { sha256: sum, bytes, .. } = to(&target, &of(&url)).await.unwrap() else { panic!() };
    assert_eq!((sum, bytes), (sha256(&old), 200_000));
    assert_eq!(std::fs::read(&target).unwrap(), old);
    assert!(
        server.heads().last().unwrap().contains(&format!("range: bytes={part}-")),
        "{:?}",
        server.heads()
    );
    assert_eq!(left(folder.path()), ["file"]);

    // The file changed meanwhile: the part is of no use.
    std::fs::remove_file(&target).unwrap();
    server.put("/file", cut(&old));
    assert_eq!(refused(&target, &of(&url)).await, ErrorCode::CapabilityMissing);
    server.put("/file", Page::tagged(new.clone(), "two"));
    to(&target, &of(&url)).await.unwrap();
    assert_eq!(std::fs::read(&target).unwrap(), new);

    // Nobody wants it continued.
    std::fs::remove_file(&target).unwrap();
    server.put("/file", cut(&old));
    assert_eq!(refused(&target, &of(&url)).await, ErrorCode::CapabilityMissing);
    server.put("/file", Page::tagged(old.clone(), "one"));
    to(&target, &Download { resume: false, ..of(&url) }).await.unwrap();
    assert!(!server.heads().last().unwrap().contains("range:"));
    assert_eq!(std::fs::read(&target).unwrap(), old);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_of_something_else_is_not_continued() {
    let (server, folder) = (FileServer::start().await, tempfile::tempdir().unwrap());
    let target = folder.path().join("file");
    let body = bytes(100_000);
    let cut = Page { cut_at: Some(50_000), ..Page::tagged(bytes(90_000), "one") };
    let other = server.put("/other", cut.clone());
    assert_eq!(refused(&target, &of(&other)).await, ErrorCode::CapabilityMissing);
    let url = server.put("/file", Page::tagged(body.clone(), "one"));
    to(&target, &of(&url)).await.unwrap();
    assert_eq!(std::fs::read(&target).unwrap(), body, "the part of another address was continued");

    // A part without a note is nobody's, and one longer than the file is thrown away.
    std::fs::write(folder.path().join("file.part"), b"stranger").unwrap();
    to(&target, &of(&url)).await.unwrap();
    assert_eq!(std::fs::read(&target).unwrap(), body);
    server.put("/file", Page { cut_at: Some(50_000), ..Page::tagged(body.clone(), "one") });
    std::fs::remove_file(&target).unwrap();
    assert_eq!(refused(&target, &of(&url)).await, ErrorCode::CapabilityMissing);
    std::fs::write(folder.path().join("file.part"), bytes(120_000)).unwrap();
    server.put("/file", Page::tagged(body.clone(), "one"));
    to(&target, &of(&url)).await.unwrap();
    assert_eq!(std::fs::read(&target).unwrap(), body);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_did_not_change_is_not_sent_again() {
    let (server, folder) = (FileServer::start().await, tempfile::tempdir().unwrap());
    let target = folder.path().join("file");
    let dated = Some("Mon, 02 Mar 2026 10:00:00 GMT".to_owned());
    let url = server.put("/file", Page { last_modified: dated.clone(), ..Page::tagged(bytes(10), "one") });
    let by_tag = Download { etag: Some("\"one\"".into()), ..of(&url) };
    let by_date = Download { last_modified: dated, ..of(&url) };
    for wanted in [by_tag.clone(), by_date] {
        assert_eq!(to(&target, &wanted).await.unwrap(), Fetched::NotModified);
        assert!(left(folder.path()).is_empty());
    }
    server.put("/file", Page::tagged(bytes(20), "two"));
    assert!(matches!(to(&target, &by_tag).await.unwrap(), Fetched::New { bytes: 20, .. }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_over_the_limit_is_refused_however_it_comes() {
    let (server, folder) = (FileServer::start().await, tempfile::tempdir().unwrap());
    let target = folder.path().join("file");
    for no_length in [false, true] {
        let url = server.put("/file", Page { no_length, ..Page::tagged(bytes(100_001), "one") });
        let wanted = Download { bytes_max: 100_000, ..of(&url) };
        assert_eq!(refused(&target, &wanted).await, ErrorCode::ArchiveTooLarge);
        assert!(left(folder.path()).is_empty());
        to(&target, &Download { bytes_max: 100_001, ..wanted }).await.unwrap();
        std::fs::remove_file(&target).unwrap();
    }
    let endless = Web::start(|_| Reply::Endless).await;
    assert_eq!(refused(&target, &of(&endless.url)).await, ErrorCode::ArchiveTooLarge);
}

#[tokio::test(flavor = "multi_thread")]
async fn redirects_are_few_and_never_leave_what_was_trusted() {
    let (server, folder) = (FileServer::start().await, tempfile::tempdir().unwrap());
    let target = folder.path().join("file");
    server.put("/3", Page::of(b"here".as_slice()));
    for hop in 0..3 {
        server.put(&format!("/{hop}"), Page::to(format!("{}", hop + 1)));
    }
    to(&target, &of(&format!("{}/0", server.url))).await.unwrap();
    assert_eq!(std::fs::read(&target).unwrap(), b"here");
    std::fs::remove_file(&target).unwrap();
    let short = Download { redirects_max: 2, ..of(&format!("{}/0", server.url)) };
    assert_eq!(refused(&target, &short).await, ErrorCode::CapabilityMissing);

    let circle = server.put("/circle", Page::to("/circle"));
    let before = server.heads().len();
    assert_eq!(refused(&target, &of(&circle)).await, ErrorCode::CapabilityMissing);
    assert_eq!(server.heads().len() - before, 4, "asked once and redirected three times");
    for bad in ["http://example.org/x", "file:///etc/passwd", "ftp://127.0.0.1/x", "http://[", ""] {
        let url = server.put("/bad", Page::to(bad));
        if !bad.is_empty() {
            let fault = to(&target, &of(&url)).await.unwrap_err();
            assert!(fault.message.contains("may not go"), "{bad}: {fault}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn silence_strange_answers_and_nobody_are_told_apart() {
    let (server, folder) = (FileServer::start().await, tempfile::tempdir().unwrap());
    let target = folder.path().join("file");
    for reply in [|| Reply::Silence, || Reply::Drip] {
        let web = Web::start(move |_| reply()).await;
        let wanted = Download { timeout_ms: 300, ..of(&web.url) };
        assert_eq!(refused(&target, &wanted).await, ErrorCode::ToolTimeout);
    }
    for (url, why) in
        [(format!("{}/none?token=secret", server.url), "status 404"), (nobody().await, "no answer")]
    {
        let fault = to(&target, &of(&url)).await.unwrap_err();
        assert_eq!(fault.code, ErrorCode::CapabilityMissing);
        assert!(fault.retryable && fault.message.contains(why), "{fault}");
        assert!(!format!("{fault:?}").contains("secret"), "{fault:?}");
    }
    // A server that answers 304 or 206 although nobody asked for it.
    for status in [304, 206, 500] {
        let web = Web::start(move |_| Reply::Plain(status, String::new())).await;
        assert_eq!(refused(&target, &of(&web.url)).await, ErrorCode::CapabilityMissing);
    }
    assert_eq!(left(folder.path()), ["file.part", "file.part.from"], "of the answer that dripped");
}
