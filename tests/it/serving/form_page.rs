//! A browser that sends the forms of pages: it keeps its cookie and reads the token of each form.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{StatusCode, header};

use super::TestServer;
use super::pages::{browser, check_markup, hidden, hidden_if_any, sign_in};

/// The field with the token of a form.
pub(super) const TOKEN: &str = "form_token";
/// The field of a form that is carried out once.
pub(super) const ONCE: &str = "once";

/// A person at a browser.
pub(super) struct Visitor<'a> {
    server: &'a TestServer,
    cookie: String,
}

/// The answer to a form.
pub(super) struct Sent {
    pub(super) status: StatusCode,
    pub(super) location: String,
    pub(super) html: String,
}

impl<'a> Visitor<'a> {
    /// Makes a visitor who has not signed in.
    pub(super) fn without_key(server: &'a TestServer) -> Self {
        Self { server, cookie: String::new() }
    }

    /// Makes a visitor who has signed in.
    pub(super) async fn signed_in(server: &'a TestServer, key: &str) -> Self {
        let response = sign_in(server, key, "/").await;
        let cookie = response.headers()[header::SET_COOKIE].to_str().unwrap();
        Self { server, cookie: cookie.split(';').next().unwrap().to_owned() }
    }

    /// A page.
    pub(super) async fn get(&self, path: &str) -> (StatusCode, String) {
        let request = browser().get(self.server.url_of(path)).header(header::COOKIE, &self.cookie);
        let response = request.send().await.unwrap();
        (response.status(), response.text().await.unwrap())
    }

    /// A page that must be there, and have only markup of the program.
    pub(super) async fn page(&self, path: &str) -> String {
        let (status, html) = self.get(path).await;
        assert_eq!(status, StatusCode::OK, "{path}: {html}");
        check_markup(path, &html);
        html
    }

    /// The token of the forms of a page.
    pub(super) async fn token(&self, path: &str) -> String {
        hidden(&self.get(path).await.1, TOKEN)
    }

    /// Sends a form to the page that has it, with its token.
    pub(super) async fn submit(&self, path: &str, fields: &[(&str, &str)]) -> Sent {
        self.submit_to(path, path, fields).await
    }

    /// Sends a form of the page `from`, with its token and with what makes it one that is carried out once.
    pub(super) async fn submit_to(&self, from: &str, to: &str, fields: &[(&str, &str)]) -> Sent {
        let (_, html) = self.get(from).await;
        let (token, once) = (hidden(&html, TOKEN), hidden_if_any(&html, ONCE));
        let once: Vec<(&str, &str)> = once.iter().map(|value| (ONCE, value.as_str())).collect();
        self.send(to, &[fields, &[(TOKEN, &token)], &once[..]].concat()).await
    }

    /// Sends a form as it is.
    pub(super) async fn send(&self, path: &str, fields: &[(&str, &str)]) -> Sent {
        let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let pairs: Vec<String> =
            fields.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value))).collect();
        let request = browser().post(self.server.url_of(path)).header(header::COOKIE, &self.cookie);
        let request = request.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        let response = request.body(pairs.join("&")).send().await.unwrap();
        let location = response.headers().get(header::LOCATION).map_or("", |value| value.to_str().unwrap());
        let location = location.to_owned();
        Sent { status: response.status(), location, html: response.text().await.unwrap() }
    }
}
