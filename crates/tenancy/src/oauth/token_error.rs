//! Reasons to reject a token: in detail for the log, in brief for its bearer.

use std::fmt;

use jsonwebtoken::errors::{Error, ErrorKind};

/// The reason to reject a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenError {
    /// The token is not a signed JWT, is too long, or has a critical extension.
    Malformed,
    /// It is unsigned, or signed with a shared secret or an unknown algorithm.
    Algorithm,
    /// It is not an access token according to its `typ`.
    Type,
    /// It names no key, or a key that the issuer does not publish.
    UnknownKey,
    /// The named key cannot be used with the algorithm of the token.
    KeyMismatch,
    /// The signature is invalid.
    Signature,
    /// It is from another issuer.
    Issuer,
    /// It is for another audience.
    Audience,
    /// It has expired.
    Expired,
    /// It is not valid yet.
    NotYetValid,
    /// A required claim is missing or malformed.
    Claim(String),
    /// The issuer's keys could not be fetched, so the token cannot be checked now.
    KeysUnavailable(String),
}

impl TokenError {
    /// The text for the bearer, sent as `error_description` beside `error="invalid_token"` (RFC 6750 §3): one sentence
    /// without quotes or backslashes.
    #[must_use]
    pub fn description(&self) -> &'static str {
        match self {
            Self::Malformed => "The token is malformed.",
            Self::Algorithm => "The token is not signed with an accepted algorithm.",
            Self::Type => "The token is not an access token.",
            Self::UnknownKey => "The token is signed with an unknown key.",
            Self::KeyMismatch | Self::Signature => "The signature of the token is wrong.",
            Self::Issuer => "The token is of another issuer.",
            Self::Audience => "The token is not meant for this server.",
            Self::Expired => "The token has expired.",
            Self::NotYetValid => "The token is not valid yet.",
            Self::Claim(_) => "The token lacks a required claim.",
            Self::KeysUnavailable(_) => "The token cannot be checked at the moment.",
        }
    }

    /// The error for a header that cannot be decoded. A header of valid JSON most likely has an unknown algorithm, such
    /// as `none`.
    pub(super) fn from_header_error(error: Error) -> Self {
        match error.into_kind() {
            ErrorKind::Json(error) if error.is_data() => Self::Algorithm,
            _ => Self::Malformed,
        }
    }
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::KeyMismatch => f.write_str("the named key does not fit the algorithm"),
            Self::Claim(claim) => write!(f, "the claim `{claim}` is missing or unusable"),
            Self::KeysUnavailable(problem) => write!(f, "the issuer's keys are not available: {problem}"),
            other => f.write_str(other.description()),
        }
    }
}

impl std::error::Error for TokenError {}

impl From<Error> for TokenError {
    fn from(error: Error) -> Self {
        match error.into_kind() {
            ErrorKind::InvalidSignature => Self::Signature,
            ErrorKind::InvalidIssuer => Self::Issuer,
            ErrorKind::InvalidAudience => Self::Audience,
            ErrorKind::ExpiredSignature => Self::Expired,
            ErrorKind::ImmatureSignature => Self::NotYetValid,
            ErrorKind::MissingRequiredClaim(claim) | ErrorKind::InvalidClaimFormat(claim) => {
                Self::Claim(claim)
            }
            ErrorKind::InvalidAlgorithm | ErrorKind::UnsupportedAlgorithm => Self::Algorithm,
            ErrorKind::InvalidKeyFormat
            | ErrorKind::InvalidRsaKey(_)
            | ErrorKind::InvalidEcdsaKey
            | ErrorKind::InvalidEddsaKey => Self::KeyMismatch,
            _ => Self::Malformed,
        }
    }
}
