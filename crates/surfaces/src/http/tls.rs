//! TLS with the configured certificate.

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

/// The TLS acceptor. It reloads a certificate that was renewed on disk at the next connection. If the new one is unusable, it
/// logs a warning and keeps the old one.
pub(super) struct Tls {
    files: CertificateFiles,
    current: Mutex<LoadedCertificate>,
}

struct LoadedCertificate {
    acceptor: TlsAcceptor,
    version: FilesVersion,
}

struct CertificateFiles {
    certificate: PathBuf,
    key: PathBuf,
}

/// Modification time and size of both files, to detect changes.
type FilesVersion = [Option<(SystemTime, u64)>; 2];

impl Tls {
    /// Loads the configured certificate; `None` if none is configured.
    ///
    /// # Errors
    /// `INVALID_INPUT` if only one of certificate and key is set, one cannot be read, or they do not match.
    pub(super) fn from_config(server: &Server) -> Result<Option<Self>, Fault> {
        let files = match (&server.tls_certificate, &server.tls_key) {
            (None, None) => return Ok(None),
            (Some(certificate), Some(key)) => {
                CertificateFiles { certificate: certificate.clone(), key: key.clone() }
            }
            _ => {
                return Err(unusable(
                    "server.tls_certificate and server.tls_key must be set together.",
                    None,
                ));
            }
        };
        let version = files.version();
        let current = Mutex::new(LoadedCertificate { acceptor: files.load()?, version });
        Ok(Some(Self { files, current }))
    }

    /// Returns the acceptor for the next connection.
    pub(super) fn acceptor(&self) -> TlsAcceptor {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let version = self.files.version();
        if version != current.version {
            current.version = version;
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

impl CertificateFiles {
    fn version(&self) -> FilesVersion {
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
    unusable(&format!("{} is not a readable PEM file.", file.display()), Some(error.to_string().into()))
}

fn unusable(message: &str, source: Option<Box<dyn std::error::Error + Send + Sync>>) -> Fault {
    let fault = Fault::new(ErrorCode::InvalidInput, message)
        .with_hint("Set server.tls_certificate to the PEM chain and server.tls_key to its private key.");
    match source {
        Some(source) => fault.with_source(source),
        None => fault,
    }
}
