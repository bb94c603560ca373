//! Why a token is not believed: exactly for the log, briefly for its bearer.

use std::fmt;

use jsonwebtoken::errors::{Error, ErrorKind};

/// Why a token is not believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Denied {
    /// Not a signed JWT, too long, or with an extension that must be understood.
    Malformed,
    /// Signed with nothing, a shared secret, or an algorithm that is not known.
    Algorithm,
    /// It says it is something else than an access token.
    Type,
    /// It names no key, or none that the issuer publishes.
    UnknownKey,
    /// The key it names is of another kind than its algorithm.
    UnfitKey,
    /// The signature is not the issuer's over this content.
    Signature,
    /// Of another issuer.
    Issuer,
    /// Meant for somebody else.
    Audience,
    /// Its time is over.
    Expired,
    /// Its time has not come.
    NotYetValid,
    /// A required claim is missing, or not of its type.
    Claim(String),
    /// The issuer's keys could not be fetched, so that nobody knows. The fault is not the bearer's, and the same
    /// token may be good later.
    KeysUnavailable(String),
}

impl Denied {
    /// What the bearer is told, as the `error_description` beside `error="invalid_token"` (RFC 6750 §3): a short
    /// sentence without quotes or backslashes.
    #[must_use]
    pub fn description(&self) -> &'static str {
        match self {
            Self::Malformed => "The token is malformed.",
            Self::Algorithm => "The token is not signed with an accepted algorithm.",
            Self::Type => "The token is not an access token.",
            Self::UnknownKey => "The token is signed with an unknown key.",
            Self::UnfitKey | Self::Signature => "The signature of the token is wrong.",
            Self::Issuer => "The token is of another issuer.",
            Self::Audience => "The token is not meant for this server.",
            Self::Expired => "The token has expired.",
            Self::NotYetValid => "The token is not valid yet.",
            Self::Claim(_) => "The token lacks a required claim.",
            Self::KeysUnavailable(_) => "The token cannot be checked at the moment.",
        }
    }

    /// Reading the header failed. JSON that is no header of ours has an algorithm that is not ours, such as
    /// `none`, more likely than anything else.
    pub(super) fn in_header(error: Error) -> Self {
        match error.into_kind() {
            ErrorKind::Json(error) if error.is_data() => Self::Algorithm,
            _ => Self::Malformed,
        }
    }
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnfitKey => f.write_str("the named key does not fit the algorithm"),
            Self::Claim(claim) => write!(f, "the claim `{claim}` is missing or unusable"),
            Self::KeysUnavailable(problem) => write!(f, "the issuer's keys are not available: {problem}"),
            other => f.write_str(other.description()),
        }
    }
}

impl std::error::Error for Denied {}

impl From<Error> for Denied {
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
            | ErrorKind::InvalidEddsaKey => Self::UnfitKey,
            _ => Self::Malformed,
        }
    }
}
