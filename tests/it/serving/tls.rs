//! HTTPS with the operator's certificate, and certificates that cannot be used.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use contract::config::Config;
use pairofcleats::surfaces::http::listen;
use reqwest::{Certificate, Client};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{Served, answer};
use crate::harness::{app_with, http};

/// A certificate for this machine and its key, as files.
struct Pair {
    folder: TempDir,
    pem: String,
}

impl Pair {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let made =
            rcgen::generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
        let pem = made.cert.pem();
        std::fs::write(folder.path().join("chain.pem"), &pem).unwrap();
        std::fs::write(folder.path().join("key.pem"), made.signing_key.serialize_pem()).unwrap();
        Self { folder, pem }
    }

    fn certificate(&self) -> PathBuf {
        self.folder.path().join("chain.pem")
    }

    fn key(&self) -> PathBuf {
        self.folder.path().join("key.pem")
    }

    /// A client that trusts this certificate and no other.
    fn client(&self) -> Client {
        http();
        let certificate = Certificate::from_pem(self.pem.as_bytes()).unwrap();
        Client::builder().tls_certs_only([certificate]).build().unwrap()
    }
}

fn set(config: &mut Config, certificate: Option<&Path>, key: Option<&Path>) {
    config.server.port = 0;
    config.server.tls_certificate = certificate.map(Path::to_owned);
    config.server.tls_key = key.map(Path::to_owned);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_a_certificate_speaks_https_alone() {
    let (pair, other) = (Pair::new(), Pair::new());
    let served = Served::start(|config| set(config, Some(&pair.certificate()), Some(&pair.key()))).await;
    assert!(served.url.starts_with("https://"), "{}", served.url);
    let client = pair.client();
    let (status, body) = answer(client.get(served.at("/health"))).await;
    assert_eq!((status.as_u16(), &body["ok"]), (200, &json!(true)));
    let (status, body) = answer(client.post(served.at("/tools/check_status")).json(&json!({}))).await;
    assert_eq!((status.as_u16(), &body["ok"]), (200, &json!(true)), "{body:#}");
    let begin = client.post(served.at("/mcp")).header("accept", "application/json, text/event-stream");
    let begun = super::message(begin.json(&super::hello()).send().await.unwrap()).await;
    assert_eq!(begun["result"]["serverInfo"]["name"], "pairofcleats", "{begun:#}");

    assert!(other.client().get(served.at("/health")).send().await.is_err(), "another certificate is trusted");
    let mut plain = TcpStream::connect(served.address()).await.unwrap();
    plain.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await.unwrap();
    let mut said = Vec::new();
    // An alert or a reset.
    let _ = plain.read_to_end(&mut said).await;
    assert!(!String::from_utf8_lossy(&said).contains("HTTP/"), "plain text was answered");
    let (status, _) = answer(client.get(served.at("/health"))).await;
    assert_eq!(status, 200, "and the server lives on");
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renewed_certificate_is_taken_up_and_a_broken_one_is_not() {
    let (first, second) = (Pair::new(), Pair::new());
    let (certificate, key) = (first.certificate(), first.key());
    let served = Served::start(|config| set(config, Some(&certificate), Some(&key))).await;
    let health = async |pair: &Pair| pair.client().get(served.at("/health")).send().await.is_ok();
    assert!(health(&first).await && !health(&second).await);
    std::fs::write(&key, "half written").unwrap();
    assert!(health(&first).await, "the old one stays");
    std::fs::copy(second.key(), &key).unwrap();
    std::fs::copy(second.certificate(), &certificate).unwrap();
    assert!(health(&second).await && !health(&first).await);
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn certificates_that_cannot_be_used_are_told_at_the_start() {
    let (pair, other, folder) = (Pair::new(), Pair::new(), tempfile::tempdir().unwrap());
    let (certificate, key) = (pair.certificate(), pair.key());
    let (garbage, missing) = (folder.path().join("garbage.pem"), folder.path().join("missing.pem"));
    std::fs::write(&garbage, "-----BEGIN CERTIFICATE-----\nnot base64!\n-----END CERTIFICATE-----\n")
        .unwrap();
    let empty = folder.path().join("empty.pem");
    std::fs::write(&empty, "").unwrap();
    let table: [(&str, Option<&Path>, Option<&Path>); 9] = [
        ("no key", Some(&certificate), None),
        ("no certificate", None, Some(&key)),
        ("a key that is not there", Some(&certificate), Some(&missing)),
        ("a certificate that is not there", Some(&missing), Some(&key)),
        ("a folder", Some(folder.path()), Some(&key)),
        ("garbage", Some(&garbage), Some(&key)),
        ("an empty chain", Some(&empty), Some(&key)),
        ("no key in the file", Some(&certificate), Some(&certificate)),
        ("another certificate's key", Some(&certificate), Some(&other.key())),
    ];
    for (what, certificate, key) in table {
        let app = app_with(|config| set(config, certificate, key));
        let Err(fault) = listen(&app).await else { panic!("{what}: it listens") };
        assert_eq!(fault.code.as_str(), "INVALID_INPUT", "{what}: {fault}");
        assert!(fault.hint.is_some(), "{what}: {fault}");
    }
    let app = app_with(|config| set(config, Some(&certificate), Some(&key)));
    assert!(listen(&app).await.is_ok_and(|listening| listening.is_encrypted()));
}

#[test]
fn the_program_says_what_is_wrong_and_does_not_start() {
    let pair = Pair::new();
    let certificate = format!("server.tls_certificate={}", pair.certificate().display());
    let mut child = std::process::Command::new(crate::harness::PROGRAM)
        .env("PAIROFCLEATS_HOME", pair.folder.path())
        .args(["serve", "--port", "0", "--json", "--set", &certificate])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // One line, whether it starts or not.
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let envelope: Value = serde_json::from_str(&line).unwrap();
    if envelope["ok"] == true {
        child.kill().unwrap();
    }
    let code = child.wait().unwrap().code();
    assert_eq!((code, &envelope["error"]["code"]), (Some(1), &json!("INVALID_INPUT")), "{envelope:#}");
}
