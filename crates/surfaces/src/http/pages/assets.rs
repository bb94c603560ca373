//! The stylesheet, the script and the icon of the pages, compiled in. Their addresses contain their hash, so that browsers can cache them.

use std::sync::OnceLock;

use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

pub(super) const PATH: &str = "/assets/{name}";

/// A file that pages load.
pub(super) struct Asset {
    name: &'static str,
    extension: &'static str,
    media_type: &'static str,
    content: &'static str,
    url: OnceLock<String>,
}

pub(super) static STYLE: Asset =
    asset("page", "css", "text/css; charset=utf-8", include_str!("assets/page.css"));
pub(super) static SCRIPT: Asset =
    asset("page", "js", "text/javascript; charset=utf-8", include_str!("assets/page.js"));
pub(super) static ICON: Asset = asset("icon", "svg", "image/svg+xml", include_str!("assets/icon.svg"));

const fn asset(
    name: &'static str,
    extension: &'static str,
    media_type: &'static str,
    content: &'static str,
) -> Asset {
    Asset { name, extension, media_type, content, url: OnceLock::new() }
}

impl Asset {
    /// Returns its address.
    pub(super) fn url(&self) -> &str {
        self.url.get_or_init(|| {
            let hash = blake3::hash(self.content.as_bytes()).to_hex();
            format!("/assets/{}-{}.{}", self.name, &hash[..16], self.extension)
        })
    }
}

/// `GET /assets/{name}`.
pub(super) async fn send(Path(name): Path<String>) -> Response {
    let known = [&STYLE, &SCRIPT, &ICON].into_iter();
    let Some(asset) = known.into_iter().find(|asset| asset.url().strip_prefix("/assets/") == Some(&name))
    else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let headers = [
        (header::CONTENT_TYPE, asset.media_type),
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
    ];
    (headers, asset.content).into_response()
}
