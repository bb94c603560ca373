//! A process that is killed during a download leaves only a partial file, which the next download continues.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use super::visible_files;
use crate::file_server::{FileServer, ServedFile};
use crate::harness::{PROGRAM, app, home, result};

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_download_is_finished_by_the_next_call() {
    let (server, folder) = (FileServer::start().await, tempfile::tempdir().unwrap());
    let words: String =
        (0..20_000).map(|i| format!("{} {i}\n", "abcdefghij".split_at(i % 9 + 1).0)).collect();
    let url = server
        .put("/words", ServedFile { hang_at: Some(60_000), ..ServedFile::with_etag(words.clone(), "one") });
    let arguments = json!({ "url": format!("ours={url}"), "dir": folder.path() });
    let mut victim = Command::new(PROGRAM)
        .args(["call", "download_dictionaries", "--args", &arguments.to_string()])
        .env("PAIROFCLEATS_HOME", home())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let part = folder.path().join(".incoming/ours.txt.part");
    let deadline = Instant::now() + Duration::from_secs(120);
    while !std::fs::metadata(&part).is_ok_and(|part| part.len() > 10_000) {
        assert!(Instant::now() < deadline, "nothing was downloaded");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    victim.kill().unwrap();
    victim.wait().unwrap();
    assert_eq!(visible_files(folder.path()), [""; 0], "an incomplete list was installed");

    server.put("/words", ServedFile::with_etag(words.clone(), "one"));
    let downloaded = result(&app(), "download_dictionaries", arguments).await;
    assert_eq!(downloaded["downloaded"][0]["bytes"], words.len());
    assert!(server.request_heads().last().unwrap().contains("range: bytes="), "{:?}", server.request_heads());
    assert_eq!(std::fs::read_to_string(folder.path().join("ours.txt")).unwrap(), words);
    assert_eq!(visible_files(&folder.path().join(".incoming")), [""; 0], "the partial file is left");
}
