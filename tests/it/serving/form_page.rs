//! A browser that sends the forms of pages: it keeps its cookie and reads the token of each form.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{StatusCode, header};

use super::TestServer;
use super::pages::{browser, elements, sign_in};

/// Somebody at a browser.
pub(super) struct Visitor<'a> {
    server: &'a TestServer,
    cookie: String,
}

impl<'a> Visitor<'a> {
    /// Somebody who needs no key.
    pub(super) fn without_key(server: &'a TestServer) -> Self {
        Self { server, cookie: String::new() }
    }

    /// Somebody who has signed in.
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

    /// The token of the forms of a page.
    pub(super) async fn token(&self, path: &str) -> String {
        let html = self.get(path).await.1;
        let field = elements(&html)
            .into_iter()
            .find(|(_, attributes)| attributes.contains(&("name".to_owned(), "form_token".to_owned())));
        let (_, attributes) = field.unwrap_or_else(|| panic!("no form: {html}"));
        attributes.into_iter().find(|(name, _)| name == "value").unwrap().1
    }

    /// Sends a form of the page with its token.
    pub(super) async fn send(&self, path: &str, fields: &[(&str, &str)]) -> (StatusCode, String) {
        let token = self.token(path).await;
        let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let all = fields.iter().copied().chain([("form_token", token.as_str())]);
        let body: Vec<String> =
            all.map(|(name, value)| format!("{}={}", encoded(name), encoded(value))).collect();
        self.send_body(path, body.join("&")).await
    }

    /// Sends a form as it is.
    pub(super) async fn send_body(&self, path: &str, body: String) -> (StatusCode, String) {
        let request = browser().post(self.server.url_of(path)).header(header::COOKIE, &self.cookie);
        let request = request.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        let response = request.body(body).send().await.unwrap();
        (response.status(), response.text().await.unwrap())
    }
}
