//! Tests of facts inferred from repositories, and of those left for people to decide.

use super::*;

fn repository(owner: &str, name: &str, files: &[(&str, &str)]) -> Metadata {
    for (path, _) in files {
        assert!(is_read(path), "{path}");
    }
    let files = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    Metadata { owner: owner.to_owned(), name: name.to_owned(), files }
}

/// The family and the platform, as far as they are decided.
fn decided(metadata: &Metadata) -> (Option<String>, Option<Platform>) {
    let Inference { family, platform, .. } = infer(metadata);
    (family.decided().cloned(), platform.decided().copied())
}

#[test]
fn a_clear_name_decides() {
    for (owner, name, family, platform) in [
        ("aspose-3d", "Aspose.3D-for-Python-via-.NET", "3d", Platform::Python),
        ("aspose-3d-foss", "Aspose.3D-FOSS-for-Java", "3d", Platform::Java),
        ("aspose-cells-foss", "aspose-cells-foss-go", "cells", Platform::Go),
        ("bob", "Acme.Till-for-Rust", "till", Platform::Rust),
        ("acme", "acme-shop-cart-for-typescript", "shop-cart", Platform::Typescript),
        ("bob", "acme-till-for-java", "acme-till", Platform::Java),
        ("bob", "Till-for-.NET", "till", Platform::Dotnet),
    ] {
        let metadata = repository(owner, name, &[]);
        assert_eq!(decided(&metadata), (Some(family.to_owned()), Some(platform)), "{owner}/{name}");
    }
}

#[test]
fn a_name_that_may_mean_something_else_decides_nothing_alone() {
    for (owner, name, family, platform) in [
        ("bob", "awesome-python", vec!["awesome"], vec![Platform::Python]),
        ("bob", "notes", vec!["notes"], vec![]),
        ("bob", "for-python", vec!["for"], vec![Platform::Python]),
        ("bob", "___", vec![], vec![]),
    ] {
        let found = infer(&repository(owner, name, &[]));
        assert_eq!((found.family.decided(), found.platform.decided()), (None, None), "{name}");
        assert_eq!(found.family.suggestions(), family, "{name}");
        assert_eq!(found.platform.suggestions(), platform.iter().collect::<Vec<_>>(), "{name}");
    }
}

#[test]
fn signals_that_agree_add_up() {
    let click = repository(
        "pallets",
        "click",
        &[("pyproject.toml", "[project]\nname = \"click\"\n"), ("README.md", "# Click\n\nA package.\n")],
    );
    assert_eq!(decided(&click), (Some("click".to_owned()), Some(Platform::Python)));
    assert_eq!(infer(&click).product_name, "Click");
    let till = repository("acme", "till-rust", &[("Cargo.toml", "[package]\nname = \"acme-till\"\n")]);
    assert_eq!(decided(&till), (Some("till".to_owned()), Some(Platform::Rust)));
    let found = infer(&repository("acme", "tools", &[("package.json", "{\"name\": \"@acme/till\"}")]));
    assert_eq!(found.family.decided(), None, "the name and the package disagree");
    assert_eq!(found.family.suggestions(), ["till", "tools"]);
}

#[test]
fn a_readme_alone_decides_nothing() {
    let found =
        infer(&repository("bob", "notes", &[("README.md", "# Notes for Python\n\nNotes in Python.\n")]));
    assert_eq!((found.family.decided(), found.platform.decided()), (None, None), "80 % is not over 80 %");
    assert_eq!(found.family.suggestions(), ["notes"]);
    assert_eq!(found.platform.suggestions(), [&Platform::Python]);
}

#[test]
fn what_comes_near_the_best_leaves_it_open() {
    let (python, npm) = (("pyproject.toml", ""), ("package.json", "{}"));
    let of = |files: &[(&str, &str)]| infer(&repository("bob", "till", files)).platform.decided().copied();
    assert_eq!(of(&[python]), Some(Platform::Python));
    assert_eq!(of(&[python, npm]), None);
    assert_eq!(of(&[python, npm, ("README.md", "# Till for Python\n")]), Some(Platform::Python));
    assert_eq!(of(&[python, npm, ("README.md", "# Till\n\nOf Python and JavaScript.\n")]), None);
    assert_eq!(of(&[npm, ("tsconfig.json", "{}")]), Some(Platform::Typescript));
    assert_eq!(of(&[("build.gradle.kts", "plugins { kotlin(\"jvm\") }")]), Some(Platform::Kotlin));
    assert_eq!(
        of(&[("Till.sln", ""), ("docs/package.json", "{}")]),
        Some(Platform::Dotnet),
        "folders come second"
    );
    assert_eq!(of(&[("python/setup.py", ""), ("README.md", "")]), Some(Platform::Python));
}

#[test]
fn a_configuration_in_the_repository_is_believed_as_far_as_it_is_one() {
    let with = |text: &str| infer(&repository("bob", "x", &[(CONFIG_FILE, text)]));
    let found =
        with(r#"{ "family": "till", "target_platform": "java", "product_name": "Acme Till", "token": "t" }"#);
    assert_eq!(found.family.decided().map(String::as_str), Some("till"));
    assert_eq!((found.platform.decided(), found.product_name.as_str()), (Some(&Platform::Java), "Acme Till"));
    for hostile in [
        r#"{ "family": "../../etc", "target_platform": "cobol", "product_name": "a\nb" }"#,
        r#"{ "family": ["till"], "target_platform": 7, "product_name": null }"#,
        "[[[",
        "",
    ] {
        let found = with(hostile);
        assert_eq!((found.family.decided(), found.platform.decided()), (None, None), "{hostile}");
        assert_eq!(found.product_name, "x", "{hostile}");
    }
}

#[test]
fn products_have_the_name_that_their_readme_gives_them() {
    let name = |readme: &str| {
        infer(&repository("aspose-3d", "Aspose.3D-for-Python-via-.NET", &[("README.md", readme)]))
            .product_name
    };
    assert_eq!(name("# Aspose.3D for Python\n"), "Aspose.3D for Python");
    assert_eq!((name("# 3D for C#\n"), name("# 3D #\n")), ("3D for C#".to_owned(), "3D".to_owned()));
    for other in [
        "",
        "# Aspose.3D for Python fixes #1\n",
        "Intro\n",
        "# <img src=x> 3D\n",
        "# [3D](https://evil.example)\n",
        "# Welcome\n",
        "# 3D {{ x }}\n",
    ] {
        assert_eq!(name(other), "Aspose.3D for Python via .NET", "{other}");
    }
}

#[test]
fn only_files_that_tell_something_are_read() {
    for path in [
        "README.md", "readme", "Cargo.toml", "go.mod", "web/package.json", "a.gemspec", "src/Till.csproj",
        CONFIG_FILE,
    ] {
        assert!(is_read(path), "{path}");
    }
    for path in [
        "docs/README.md", "a/b/package.json", ".github/package.json", "src/main.rs", "notes.md",
        "sub/run_config.json",
    ] {
        assert!(!is_read(path), "{path}");
    }
}

#[test]
fn files_of_the_root_come_first_and_their_number_is_limited() {
    let many = (0..2 * FILES_MAX).map(|n| format!("a{n:03}/Cargo.toml")).chain(["README.md".to_owned()]);
    let chosen = files_to_read(many);
    assert_eq!(
        (chosen.len(), chosen[0].as_str(), chosen[1].as_str()),
        (FILES_MAX, "README.md", "a000/Cargo.toml")
    );
}

#[test]
fn repositories_are_about_what_their_names_say() {
    assert!(is_about("aspose-3d", "examples", "3d") && is_about("bob", "Shop-Cart-for-Java", "shop-cart"));
    assert!(!is_about("bob", "shopping", "shop") && !is_about("", "cart-shop", "shop-cart"));
}
