//! Tables of addresses: which are read, as what, and why others are refused.

use super::*;

/// Site, section, product, platform and locale; or the code of the refusal, and its message.
type Read = Result<(String, Section, String, Platform, String), (ErrorCode, String)>;

fn page(url: &str) -> Read {
    let more = BTreeMap::from([("docs.acme.example".to_owned(), Section::Docs)]);
    let page = ProductPage::parse(url, &more).map_err(|fault| (fault.code, fault.message))?;
    Ok((page.site, page.section, page.product_slug, page.platform, page.locale))
}

#[test]
fn the_table_is_read() {
    assert_eq!(table().hosts.len(), 5);
    assert_eq!(platform_named("net"), Some(Platform::Dotnet));
    assert_eq!(platform_named("cobol"), None);
    for (word, platform) in &table().platforms {
        assert!(is_slug(word), "{word}");
        let name = serde_json::to_value(platform).unwrap();
        assert_eq!(platform_named(name.as_str().unwrap()), Some(*platform), "a platform has its own name");
    }
}

#[test]
fn pages_of_five_sites_are_read() {
    let read = |url: &str| page(url).unwrap_or_else(|error| panic!("{url}: {error:?}"));
    let expected = |site: &str, section, product: &str, platform, locale: &str| {
        (site.to_owned(), section, product.to_owned(), platform, locale.to_owned())
    };
    for (url, known) in [
        (
            "https://products.aspose.org/3d/en/python/",
            expected("products.aspose.org", Section::Products, "3d", Platform::Python, "en"),
        ),
        (
            "https://products.aspose.org/3d/en/python",
            expected("products.aspose.org", Section::Products, "3d", Platform::Python, "en"),
        ),
        (
            "HTTPS://Docs.Aspose.ORG/cells/de/java/getting-started/",
            expected("docs.aspose.org", Section::Docs, "cells", Platform::Java, "de"),
        ),
        (
            "https://docs.aspose.org/cells/zh-Hans/net/",
            expected("docs.aspose.org", Section::Docs, "cells", Platform::Dotnet, "zh-Hans"),
        ),
        (
            "https://kb.aspose.org/words/en/nodejs/convert-to-pdf",
            expected("kb.aspose.org", Section::Kb, "words", Platform::Javascript, "en"),
        ),
        (
            "https://reference.aspose.org/email/fr/cpp/",
            expected("reference.aspose.org", Section::Reference, "email", Platform::Cpp, "fr"),
        ),
        (
            "https://blog.aspose.org/3d/python/first-post/",
            expected("blog.aspose.org", Section::Blog, "3d", Platform::Python, "en"),
        ),
        (
            "https://blog.aspose.org/3d/python/",
            expected("blog.aspose.org", Section::Blog, "3d", Platform::Python, "en"),
        ),
        (
            "https://blog.aspose.org/de/3d/python/first-post/",
            expected("blog.aspose.org", Section::Blog, "3d", Platform::Python, "de"),
        ),
        (
            "https://blog.aspose.org/de/3d/python/",
            expected("blog.aspose.org", Section::Blog, "3d", Platform::Python, "de"),
        ),
        (
            "https://docs.acme.example/shop-cart/en/rust/",
            expected("docs.acme.example", Section::Docs, "shop-cart", Platform::Rust, "en"),
        ),
    ] {
        assert_eq!(read(url), known, "{url}");
    }
}

#[test]
fn what_is_no_plain_address_of_a_page_is_refused_with_its_reason() {
    let long = format!("https://docs.aspose.org/{}/en/python/", "a".repeat(2000));
    for (url, reason) in [
        ("", "https://"),
        ("3d", "https://"),
        ("http://products.aspose.org/3d/en/python/", "https://"),
        ("ftp://products.aspose.org/3d/en/python/", "https://"),
        ("https://products.aspose.org:443/3d/en/python/", "port"),
        ("https://products.aspose.org:99999/3d/en/python/", "port"),
        ("https://ada:secret@products.aspose.org/3d/en/python/", "password"),
        ("https://products.aspose.org@evil.example/3d/en/python/", "password"),
        ("https:///3d/en/python/", "host"),
        ("https://products..aspose.org/3d/en/python/", "host"),
        ("https://-products.aspose.org/3d/en/python/", "host"),
        ("https://products.aspose.org/3d%2fen/python/", "encoded"),
        ("https://products.aspose.org/%2e%2e/3d/en/python/", "encoded"),
        ("https://products.aspose.org/3d;x/en/python/", "encoded"),
        ("https://products.aspose.org/3d/../en/python/", "`..`"),
        ("https://products.aspose.org/./3d/en/python/", "`..`"),
        ("https://products.aspose.org/3d//en/python/", "empty part"),
        ("https://products.aspose.org/3d/en/python//", "empty part"),
        ("https://products.aspose.org/3d/en/python/?x=1", "query"),
        ("https://products.aspose.org/3d/en/python/#top", "fragment"),
        ("https://products.aspose.org\\@evil.example/3d/en/python/", "backslashes"),
        ("https://products.aspose.org/3d/en/py thon/", "spaces"),
        ("https://products.aspose.org/3d/en/python/\n", "spaces"),
        ("https://prödücts.aspose.org/3d/en/python/", "ASCII"),
        (long.as_str(), "2,000"),
        ("https://products.aspose.org", "form"),
        ("https://products.aspose.org/3d/en", "form"),
        ("https://products.aspose.org/3d/en/python/page/", "form"),
        ("https://reference.aspose.org/3d/en/python/page/", "form"),
        ("https://docs.aspose.org/3d/en/python/a/b/", "form"),
        ("https://blog.aspose.org/3d/", "form"),
        ("https://blog.aspose.org/3d/python/a/b/", "form"),
        ("https://products.aspose.org/3D/en/python/", "product"),
        ("https://products.aspose.org/a--b/en/python/", "product"),
        ("https://products.aspose.org/aux/en/python/", "product"),
        ("https://products.aspose.org/3d/english/python/", "language"),
        ("https://products.aspose.org/3d/EN/python/", "language"),
        ("https://products.aspose.org/3d/en/cobol/", "platform"),
        ("https://blog.aspose.org/3d/cobol/post/", "platform"),
    ] {
        let (code, message) = page(url).unwrap_err();
        assert_eq!(code, ErrorCode::InvalidUrl, "{url}: {message}");
        assert!(message.contains(reason), "{url}: {message}");
        assert!(!message.contains("secret"), "{message}");
    }
}

#[test]
fn other_sites_are_not_supported() {
    for url in [
        "https://aspose.org/3d/en/python/",
        "https://products.aspose.org.evil.example/3d/en/python/",
        "https://evilproducts.aspose.org/3d/en/python/",
        "https://127.0.0.1/3d/en/python/",
    ] {
        assert_eq!(page(url).unwrap_err().0, ErrorCode::UnsupportedSite, "{url}");
    }
    let fault = ProductPage::parse("https://example.com/", &BTreeMap::new()).unwrap_err();
    let details = fault.details.unwrap();
    assert_eq!(details["site"], "example.com");
    assert!(details["supported_sites"].as_array().unwrap().contains(&json!("kb.aspose.org")), "{details}");
}

#[test]
fn hosts_of_the_operator_have_sections() {
    let read =
        |host: &str, section: &str| product_hosts(&BTreeMap::from([(host.to_owned(), section.to_owned())]));
    let known = read("docs.acme.example", "docs").unwrap();
    assert_eq!(known.get("docs.acme.example"), Some(&Section::Docs));
    for (host, section) in [
        ("docs.acme.example", "news"),
        ("https://docs.acme.example", "docs"),
        ("Docs.acme.example", "docs"),
        ("", "docs"),
    ] {
        assert_eq!(read(host, section).unwrap_err().code, ErrorCode::InvalidInput, "{host} {section}");
    }
}

#[test]
fn repositories_on_github_have_one_spelling() {
    for url in [
        "https://github.com/aspose-3d/Aspose.3D-for-Python-via-.NET",
        "https://github.com/aspose-3d/Aspose.3D-for-Python-via-.NET/",
        "https://GitHub.com/aspose-3d/Aspose.3D-for-Python-via-.NET.git",
    ] {
        let repository = GithubRepository::parse(url).unwrap();
        assert_eq!((&*repository.owner, &*repository.name), ("aspose-3d", "Aspose.3D-for-Python-via-.NET"));
        assert_eq!(
            repository.address.as_str(),
            "https://github.com/aspose-3d/Aspose.3D-for-Python-via-.NET",
            "{url}"
        );
    }
}

#[test]
fn what_is_no_repository_on_github_is_refused() {
    for url in [
        "acme/shop",
        "git@github.com:acme/shop.git",
        "ssh://git@github.com/acme/shop",
        "http://github.com/acme/shop",
        "https://github.com",
        "https://github.com/acme",
        "https://github.com/acme/shop/tree/main",
        "https://github.com/acme/shop//src",
        "https://github.com/acme/shop?tab=readme",
        "https://github.com/acme/shop#readme",
        "https://token@github.com/acme/shop",
        "https://github.com:443/acme/shop",
        "https://github.com/acme/..",
        "https://github.com/acme/../shop",
        "https://github.com/acme/.git",
        "https://github.com/acme/sh%6fp",
        "https://github.com/-acme/shop",
        "https://github.com/ac.me/shop",
        "https://github.com/acme/sh$op",
        "https://gitlab.com/acme/shop",
        "https://github.com.evil.example/acme/shop",
        "https://www.github.com/acme/shop",
        "https://evil.example\\@github.com/acme/shop",
    ] {
        let fault = GithubRepository::parse(url).unwrap_err();
        assert_eq!(fault.code, ErrorCode::InvalidUrl, "{url}: {fault}");
        assert_eq!(fault.details.unwrap()["field"], "github_repo_url", "{url}");
    }
}
