//! TLS by rustls with the platform's certificate authorities, configured per client instead of process-wide.

use std::path::Path;
use std::sync::Arc;

use rustls_platform_verifier::Verifier;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::{self, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use super::HttpError;

/// The certificates that a client trusts, and its own.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TlsSettings<'a> {
    /// A PEM file of certificate authorities, in addition to the platform's.
    pub(super) ca_file: Option<&'a Path>,
    /// A PEM file with the client's certificate and private key.
    pub(super) client_cert_file: Option<&'a Path>,
    /// Accept every certificate: for hosts that the user trusts by name.
    pub(super) accept_any_certificate: bool,
}

/// Returns the TLS configuration of a client.
///
/// # Errors
/// If a PEM file cannot be read, or TLS cannot be set up.
pub(super) fn tls(settings: TlsSettings<'_>) -> Result<ClientConfig, HttpError> {
    let provider = Arc::new(ring::default_provider());
    let failed = |error: rustls::Error| HttpError::Unreachable(error.to_string());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(failed)?;
    let extra = settings.ca_file.map(certificates).transpose()?.unwrap_or_default();
    let builder = if settings.accept_any_certificate {
        builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
    } else {
        match Verifier::new_with_extra_roots(extra.iter().cloned(), Arc::clone(&provider)) {
            Ok(verifier) => builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier)),
            // A minimal container may have no certificate authorities; HTTP still works, and so do the configured ones.
            Err(error) => {
                tracing::warn!("no certificate authorities of the platform: {error}");
                let mut roots = RootCertStore::empty();
                roots.add_parsable_certificates(extra);
                builder.with_root_certificates(roots)
            }
        }
    };
    let Some(file) = settings.client_cert_file else { return Ok(builder.with_no_client_auth()) };
    let key = PrivateKeyDer::from_pem_file(file).map_err(|error| unreadable(file, &error))?;
    builder.with_client_auth_cert(certificates(file)?, key).map_err(failed)
}

/// Reads the certificates of a PEM file; at least one.
fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, HttpError> {
    let read: Result<Vec<_>, pem::Error> =
        CertificateDer::pem_file_iter(file).and_then(|certificates| certificates.collect());
    match read {
        Ok(certificates) if certificates.is_empty() => Err(unreadable(file, &pem::Error::NoItemsFound)),
        Ok(certificates) => Ok(certificates),
        Err(error) => Err(unreadable(file, &error)),
    }
}

fn unreadable(file: &Path, error: &pem::Error) -> HttpError {
    // Only the file name: remote callers must not see the paths of this machine.
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    HttpError::Certificate(format!("{name} cannot be used: {error}"))
}

/// Accepts every certificate, but still checks that the server has its private key.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
