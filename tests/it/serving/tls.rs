//! HTTPS with the operator's certificate, and unusable certificates.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use contract::config::Config;
use reqwest::{Certificate, Client};
use serde_json::{Value, json};
use surfaces::http::listen;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{TestServer, send_json};
use crate::harness::{app_with, http};

/// A certificate for localhost and its key, as files.
struct CertificatePair {
    folder: TempDir,
    pem: String,
}

impl CertificatePair {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let generated =
            rcgen::generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
        let pem = generated.cert.pem();
        std::fs::write(folder.path().join("chain.pem"), &pem).unwrap();
        std::fs::write(folder.path().join("key.pem"), generated.signing_key.serialize_pem()).unwrap();
        Self { folder, pem }
    }

    fn certificate(&self) -> PathBuf {
        self.folder.path().join("chain.pem")
    }

    fn key(&self) -> PathBuf {
        self.folder.path().join("key.pem")
    }

    /// A client that trusts only this certificate.
    fn client(&self) -> Client {
        http();
        let certificate = Certificate::from_pem(self.pem.as_bytes()).unwrap();
        Client::builder().tls_certs_only([certificate]).build().unwrap()
    }
}

fn set_tls(config: &mut Config, certificate: Option<&Path>, key: Option<&Path>) {
    config.server.port = 0;
    config.server.tls_certificate = certificate.map(Path::to_owned);
    config.server.tls_key = key.map(Path::to_owned);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_a_certificate_speaks_only_https() {
    let (pair, other) = (CertificatePair::new(), CertificatePair::new());
    let server =
        TestServer::start(|config| set_tls(config, Some(&pair.certificate()), Some(&pair.key()))).await;
    assert!(server.url.starts_with("https://"), "{}", server.url);
    let client = pair.client();
    let (status, body) = send_json(client.get(server.url_of("/health"))).await;
    assert_eq!((status.as_u16(), &body["ok"]), (200, &json!(true)));
    let (status, body) = send_json(client.post(server.url_of("/tools/check_status")).json(&json!({}))).await;
    assert_eq!((status.as_u16(), &body["ok"]), (200, &json!(true)), "{body:#}");
    let request = client.post(server.url_of("/mcp")).header("accept", "application/json, text/event-stream");
    let opened = super::last_message(request.json(&super::initialize_request()).send().await.unwrap()).await;
    assert_eq!(opened["result"]["serverInfo"]["name"], "pairofcleats", "{opened:#}");

    assert!(
        other.client().get(server.url_of("/health")).send().await.is_err(),
        "a client with another certificate connected"
    );
    let mut plain_text = TcpStream::connect(server.address()).await.unwrap();
    plain_text
        .write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .await
        .unwrap();
    let mut received = Vec::new();
    // The server sends an alert or resets the connection.
    let _ = plain_text.read_to_end(&mut received).await;
    assert!(!String::from_utf8_lossy(&received).contains("HTTP/"), "plain text was answered");
    let (status, _) = send_json(client.get(server.url_of("/health"))).await;
    assert_eq!(status, 200, "the server still works");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renewed_certificate_is_loaded_and_a_broken_one_is_ignored() {
    let (first, second) = (CertificatePair::new(), CertificatePair::new());
    let (certificate, key) = (first.certificate(), first.key());
    let server = TestServer::start(|config| set_tls(config, Some(&certificate), Some(&key))).await;
    let health =
        async |pair: &CertificatePair| pair.client().get(server.url_of("/health")).send().await.is_ok();
    assert!(health(&first).await && !health(&second).await);
    std::fs::write(&key, "half written").unwrap();
    assert!(health(&first).await, "the old certificate stays in use");
    std::fs::copy(second.key(), &key).unwrap();
    std::fs::copy(second.certificate(), &certificate).unwrap();
    assert!(health(&second).await && !health(&first).await);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unusable_certificates_prevent_the_start() {
    let (pair, other, folder) =
        (CertificatePair::new(), CertificatePair::new(), tempfile::tempdir().unwrap());
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
    for (label, certificate, key) in table {
        let app = app_with(|config| set_tls(config, certificate, key));
        let Err(fault) = listen(&app).await else { panic!("{label}: the server started") };
        assert_eq!(fault.code.as_str(), "INVALID_INPUT", "{label}: {fault}");
        assert!(fault.hint.is_some(), "{label}: {fault}");
    }
    let app = app_with(|config| set_tls(config, Some(&certificate), Some(&key)));
    assert!(listen(&app).await.is_ok_and(|listening| listening.is_encrypted()));
}

#[test]
fn the_program_reports_the_error_and_does_not_start() {
    let pair = CertificatePair::new();
    let certificate = format!("server.tls_certificate={}", pair.certificate().display());
    let mut child = std::process::Command::new(crate::harness::PROGRAM)
        .env("PAIROFCLEATS_HOME", pair.folder.path())
        .args(["serve", "--port", "0", "--json", "--set", &certificate])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // The program prints one line, whether it starts or not.
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let envelope: Value = serde_json::from_str(&line).unwrap();
    if envelope["ok"] == true {
        child.kill().unwrap();
    }
    let code = child.wait().unwrap().code();
    assert_eq!((code, &envelope["error"]["code"]), (Some(1), &json!("INVALID_INPUT")), "{envelope:#}");
}
