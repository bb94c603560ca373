//! The fuzz targets of MCP: message streams and resource URIs.

use futures::executor::block_on;
use serde_json::Value;
use tokio::io::BufReader;

use super::framing::{Frame, Frames, Framing};
use super::message;
use super::uri::ResourceUri;
use crate::modules::TEST_MODULES;

/// Longest message of a fuzzed stream.
const MESSAGE_BYTES_MAX: usize = 1024;

/// Returns the seeds: a byte for the framing, a byte for the buffer size, then the stream.
pub fn streams() -> Vec<Vec<u8>> {
    let messages = [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"search","arguments":{"query":"x"},"_meta":{"progressToken":7}}}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"repo://a/b.rs"}}"#,
        r#"{"jsonrpc":"2.0","id":3,"result":{"roots":[{"uri":"file:///a"}]}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"no"}}"#,
        r#"[{"jsonrpc":"2.0"}]"#,
    ];
    let lines = messages.join("\n");
    let headers =
        messages.map(|message| format!("Content-Length: {}\r\n\r\n{message}", message.len())).concat();
    vec![[&[0, 7], lines.as_bytes()].concat(), [&[1, 200], headers.as_bytes()].concat()]
}

/// Checks that the messages do not depend on the buffer size, that their length is bounded, and that refusals are valid JSON-RPC
/// errors.
pub fn frames(data: &[u8]) {
    let [framing, buffer, input @ ..] = data else { return };
    let framing = if framing & 1 == 0 { Framing::Lines } else { Framing::Headers };
    let found = all(input, framing, usize::from(*buffer) + 1);
    assert_eq!(found, all(input, framing, 64 * 1024), "by another buffer");
    let bytes: usize =
        found.iter().map(|frame| if let Frame::Message(text) = frame { text.len() } else { 0 }).sum();
    assert!(bytes <= input.len(), "{bytes} bytes out of {}", input.len());
    for frame in found {
        let Frame::Message(text) = frame else { continue };
        assert!(text.len() <= MESSAGE_BYTES_MAX);
        if let Err(refused) = message::parse_message(&text, TEST_MODULES.gate().tools()) {
            let answer = refused.answer();
            assert!(answer["error"]["code"].is_i64() && answer["jsonrpc"] == "2.0", "{answer}");
            assert!(answer.to_string().len() <= 4096, "an answer of {} bytes", answer.to_string().len());
            assert!(matches!(answer["id"], Value::Null | Value::String(_) | Value::Number(_)), "{answer}");
        }
    }
}

fn all(input: &[u8], framing: Framing, buffer: usize) -> Vec<Frame> {
    let mut frames = Frames::new(BufReader::with_capacity(buffer, input), framing, MESSAGE_BYTES_MAX);
    let mut found = Vec::new();
    // Reading from memory never waits and never fails.
    while let Ok(Some(frame)) = block_on(frames.next()) {
        found.push(frame);
    }
    found
}

/// Returns the seed URIs.
pub fn uris() -> Vec<Vec<u8>> {
    let uris = [
        "repo://shop/src/a.rs",
        "REPO://a%20b/c%2Fd/%C3%A9?project=client-a",
        "repo://x/a?b#c?project=p?project=q",
    ];
    uris.map(|uri| uri.as_bytes().to_vec()).to_vec()
}

/// Checks that a parsed URI is written so that it parses to the same value.
pub fn uri(data: &[u8]) {
    if let Ok(uri) = ResourceUri::parse(&String::from_utf8_lossy(data)) {
        let written = uri.to_string();
        assert_eq!(ResourceUri::parse(&written), Ok(uri), "written as {written}");
    }
}
