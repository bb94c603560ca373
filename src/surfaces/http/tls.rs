//! TLS with the operator's certificate.

use std::path::Path;
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{DEFAULT_VERSIONS, ServerConfig};

use crate::config::Server;
use crate::contract::{ErrorCode, Fault};

/// What turns connections into encrypted ones, if the operator configured a certificate.
///
/// # Errors
/// `INVALID_INPUT` when only one of certificate and key is set, or one cannot be read, or they do not fit.
pub(super) fn acceptor(server: &Server) -> Result<Option<TlsAcceptor>, Fault> {
    let (certificate, key) = match (&server.tls_certificate, &server.tls_key) {
        (None, None) => return Ok(None),
        (Some(certificate), Some(key)) => (certificate, key),
        _ => return Err(unusable("server.tls_certificate and server.tls_key belong together.", None)),
    };
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|e| unreadable(certificate, e))?;
    let key = PrivateKeyDer::from_pem_file(key).map_err(|e| unreadable(key, e))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(DEFAULT_VERSIONS)
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
        .map_err(|e| unusable("The TLS certificate and its key cannot be used.", Some(e.into())))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Some(TlsAcceptor::from(Arc::new(config))))
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
