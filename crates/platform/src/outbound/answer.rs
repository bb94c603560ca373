//! Responses of any status, with their headers: for APIs that answer in pages, limit rates and know conditional requests.

use reqwest::RequestBuilder;
use reqwest::header::HeaderValue;
use serde_json::Value;

use super::{HttpClient, HttpError, Url};

/// Largest part of the body of an unsuccessful response that is kept: enough for a message.
const MESSAGE_BYTES_MAX: usize = 8192;
/// Headers whose values are not shown when a request is logged.
const SECRET_HEADERS: [&str; 2] = ["authorization", "private-token"];

/// A response of any status.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// Names in lower case, and values; values other than visible ASCII are omitted. A name may occur several times.
    pub headers: Vec<(String, String)>,
    /// The whole body of a success, else its beginning.
    pub body: Vec<u8>,
}

impl Answer {
    /// Returns the first value of a header; `name` is in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own.as_str() == name).map(|(_, value)| value.as_str())
    }
}

impl HttpClient {
    /// Sends a GET request and returns the response, whatever its status is. The body of a success may have `bytes_max` bytes.
    ///
    /// The names of `headers` are in lower case. Credentials among them are not shown when the request is logged.
    ///
    /// # Errors
    /// [`HttpError`], except for [`HttpError::Status`] and [`HttpError::Malformed`].
    pub async fn get(
        &self,
        url: &Url,
        headers: &[(&'static str, &str)],
        bytes_max: usize,
    ) -> Result<Answer, HttpError> {
        let request = with_headers(self.client.get(url.clone()), headers)?;
        read_answer(request.send().await?, bytes_max).await
    }

    /// Sends JSON by POST and returns the response, as [`HttpClient::get`] does.
    ///
    /// # Errors
    /// See [`HttpClient::get`].
    pub async fn post(
        &self,
        url: &Url,
        headers: &[(&'static str, &str)],
        body: &Value,
        bytes_max: usize,
    ) -> Result<Answer, HttpError> {
        let request = with_headers(self.client.post(url.clone()).json(body), headers)?;
        read_answer(request.send().await?, bytes_max).await
    }
}

fn with_headers(
    mut request: RequestBuilder,
    headers: &[(&'static str, &str)],
) -> Result<RequestBuilder, HttpError> {
    for (name, value) in headers {
        let mut value = HeaderValue::from_str(value)
            .map_err(|_| HttpError::Unreachable(format!("the header `{name}` cannot be sent")))?;
        value.set_sensitive(SECRET_HEADERS.contains(name));
        request = request.header(*name, value);
    }
    Ok(request)
}

async fn read_answer(mut response: reqwest::Response, bytes_max: usize) -> Result<Answer, HttpError> {
    let status = response.status().as_u16();
    let is_success = response.status().is_success();
    let headers = response
        .headers()
        .iter()
        .filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())))
        .collect();
    let kept_max = if is_success { bytes_max } else { MESSAGE_BYTES_MAX };
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        let room = kept_max - body.len();
        if chunk.len() > room {
            if is_success {
                return Err(HttpError::TooLarge(bytes_max));
            }
            body.extend_from_slice(&chunk[..room]);
            break;
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Answer { status, headers, body })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_value_of_a_header_counts() {
        let headers = [("link", "a"), ("link", "b")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        let answer = Answer { status: 200, headers: headers.to_vec(), body: Vec::new() };
        assert_eq!((answer.header("link"), answer.header("etag")), (Some("a"), None));
    }
}
