//! TLS with the operator's certificate.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{DEFAULT_VERSIONS, ServerConfig};

use contract::config::Server;
use contract::{ErrorCode, Fault};

/// Turns connections into encrypted ones. A certificate that was renewed on disk is taken up with the next
/// connection; one that cannot be used is logged, and the old one stays.
pub(super) struct Tls {
    files: Files,
    current: Mutex<Current>,
}

struct Current {
    acceptor: TlsAcceptor,
    stamp: Stamp,
}

struct Files {
    certificate: PathBuf,
    key: PathBuf,
}

/// What tells one state of the files from another: when each was written, and its size.
type Stamp = [Option<(SystemTime, u64)>; 2];

impl Tls {
    /// None unless the operator configured a certificate.
    ///
    /// # Errors
    /// `INVALID_INPUT` when only one of certificate and key is set, or one cannot be read, or they do not fit.
    pub(super) fn configured(server: &Server) -> Result<Option<Self>, Fault> {
        let files = match (&server.tls_certificate, &server.tls_key) {
            (None, None) => return Ok(None),
            (Some(certificate), Some(key)) => Files { certificate: certificate.clone(), key: key.clone() },
            _ => return Err(unusable("server.tls_certificate and server.tls_key belong together.", None)),
        };
        let stamp = files.stamp();
        let current = Mutex::new(Current { acceptor: files.load()?, stamp });
        Ok(Some(Self { files, current }))
    }

    /// What takes the next connection.
    pub(super) fn acceptor(&self) -> TlsAcceptor {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = self.files.stamp();
        if stamp != current.stamp {
            current.stamp = stamp;
            match self.files.load() {
                Ok(acceptor) => {
                    tracing::info!("the TLS certificate was renewed");
                    current.acceptor = acceptor;
                }
                Err(fault) => tracing::warn!("the new TLS certificate is not used: {}", fault.message),
            }
        }
        current.acceptor.clone()
    }
}

impl Files {
    fn stamp(&self) -> Stamp {
        [&self.certificate, &self.key].map(|file| {
            let facts = std::fs::metadata(file).ok()?;
            Some((facts.modified().ok()?, facts.len()))
        })
    }

    fn load(&self) -> Result<TlsAcceptor, Fault> {
        let Self { certificate, key } = self;
        let chain = CertificateDer::pem_file_iter(certificate)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|e| unreadable(certificate, e))?;
        let key = PrivateKeyDer::from_pem_file(key).map_err(|e| unreadable(key, e))?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(DEFAULT_VERSIONS)
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
            .map_err(|e| unusable("The TLS certificate and its key cannot be used.", Some(e.into())))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

fn unreadable(file: &Path, error: tokio_rustls::rustls::pki_types::pem::Error) -> Fault {
    unusable(&format!("{} is no PEM file that can be read.", file.display()), Some(error.to_string().into()))
}

fn unusable(message: &str, source: Option<Box<dyn std::error::Error + Send + Sync>>) -> Fault {
    let fault = Fault::new(ErrorCode::InvalidInput, message)
        .with_hint("Give server.tls_certificate the PEM chain and server.tls_key its private key.");
    match source {
        Some(source) => fault.with_source(source),
        None => fault,
    }
}
