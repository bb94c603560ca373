//! Finds passwords in URLs, in the part before the host.

use std::ops::Range;

use super::file_format::FileFormat;
use super::names::SecretClass;
use super::values::{self, ValueContext};

/// Longest part of a URL before its path (the authority), in bytes.
const AUTHORITY_BYTES_MAX: usize = 1024;

/// Schemes of databases, brokers and stores, whose URLs contain real passwords.
const STORE_SCHEMES: [&str; 52] = [
    "postgres", "postgresql", "mysql", "mysql2", "mariadb", "mongodb", "mongodb+srv", "redis", "rediss",
    "amqp", "amqps", "kafka", "nats", "mssql", "sqlserver", "oracle", "cockroachdb", "clickhouse",
    "cassandra", "couchdb", "couchbase", "ldap", "ldaps", "smtp", "smtps", "imap", "imaps", "ftp", "ftps",
    "sftp", "mqtt", "mqtts", "neo4j", "bolt", "neo4j+s", "influxdb", "pulsar", "pulsar+ssl", "db2",
    "snowflake", "redshift", "tcp", "ssh", "smb", "rtsp", "socks5", "elasticsearch", "memcached",
    "sqlalchemy", "valkey", "libsql", "timescaledb",
];

/// Returns the range of the password in the URL whose `://` is at `at`.
pub(super) fn password(text: &str, at: usize, format: FileFormat) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let start = at + 3;
    let length = bytes[start..]
        .iter()
        .take(AUTHORITY_BYTES_MAX)
        .position(|byte| {
            byte.is_ascii_whitespace()
                || matches!(
                    byte,
                    b'/' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'?' | b'\\' | b'(' | b')' | b'|'
                )
        })
        .unwrap_or(bytes.len().min(start + AUTHORITY_BYTES_MAX) - start);
    let authority = &bytes[start..start + length];
    let host = authority.iter().rposition(|&byte| byte == b'@')?;
    if !authority
        .get(host + 1)
        .is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'[' | b'$' | b'{' | b'_' | b'%'))
    {
        return None;
    }
    let colon = authority[..host].iter().position(|&byte| byte == b':');
    let secret = start + colon.map_or(0, |colon| colon + 1)..start + host;
    let value = text.get(secret.clone())?;
    let context = match format {
        FileFormat::Env | FileFormat::Properties => ValueContext::EnvFile,
        FileFormat::Yaml | FileFormat::Shell | FileFormat::Make | FileFormat::Data | FileFormat::Markup => {
            ValueContext::Config
        }
        FileFormat::Code | FileFormat::Prose => ValueContext::Code,
    };
    let is_secret = match colon {
        // A token can take the place of the user name.
        None => value.len() >= 20 && values::is_secret(value, SecretClass::Token, ValueContext::Code),
        Some(_) => values::is_url_password(value, is_store_scheme(&bytes[..at]), context),
    };
    is_secret.then_some(secret)
}

/// Returns whether the scheme that ends here is that of a database, with or without a driver: `postgresql+asyncpg`, `jdbc:mysql`.
fn is_store_scheme(before: &[u8]) -> bool {
    let start = before
        .iter()
        .rev()
        .take(40)
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
        .count();
    let Ok(scheme) = std::str::from_utf8(&before[before.len() - start..]) else { return false };
    let scheme = scheme.to_ascii_lowercase();
    STORE_SCHEMES.contains(&scheme.as_str())
        || scheme.split('+').next().is_some_and(|first| STORE_SCHEMES.contains(&first))
}
