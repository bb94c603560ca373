//! Redacted and unchanged texts, numbers of lines and secrets, unusual text.

use proptest::prelude::*;

use super::*;

/// Joins the parts of a token, so that secret scanners of this repository do not find it.
fn joined(parts: &[&str]) -> String {
    parts.concat()
}

#[test]
fn secrets_are_replaced_and_the_text_around_them_is_kept() {
    let random40 = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzKEY9";
    for (text, expected) in [
        (joined(&["key = AKIA", "IOSFODNN7EXAMPLE;"]), "key = [REDACTED:aws_access_key];"),
        (joined(&["aws_secret_access_key = ", random40]), "aws_secret_access_key = [REDACTED:password]"),
        (joined(&["x AIza", "SyA1234567890abcdefghijklmnopqrstuv y"]), "x [REDACTED:google_api_key] y"),
        (joined(&["ghp", "_16C7e42F292c6912E7710c838347Ae178B4a"]), "[REDACTED:github_token]"),
        (joined(&["\"glpat", "-abcdEFGH1234ijklMNOP\""]), "\"[REDACTED:gitlab_token]\""),
        (joined(&["xoxb", "-123456789012-abcdefABCDEF"]), "[REDACTED:slack_token]"),
        (joined(&["sk_live", "_4eC39HqLyjWDarjtT1zdp7dc"]), "[REDACTED:stripe_key]"),
        (
            joined(&["a eyJhbGciOiJIUzI1NiJ9", ".eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmN b"]),
            "a [REDACTED:jwt] b",
        ),
        (
            joined(&["postgres://app:", "s3cr3tPa55word@db:5432/x"]),
            "postgres://app:[REDACTED:url_password]@db:5432/x",
        ),
        (joined(&["password = \"", "hunter2!Xy\""]), "password = \"[REDACTED:password]\""),
        (
            joined(&["  'api_key' => '", "9f8e7d6c5b4a39281706f5e4',"]),
            "  'api_key' => '[REDACTED:password]',",
        ),
        (
            joined(&["GITHUB_TOKEN=ghp", "_16C7e42F292c6912E7710c838347Ae178B4a"]),
            "GITHUB_TOKEN=[REDACTED:github_token]",
        ),
        (
            joined(&["a\n-----BEGIN RSA ", "PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----\nb"]),
            "a\n[REDACTED:private_key]\n\n\n\nb",
        ),
        (
            joined(&["one\r\ntwo ghp", "_16C7e42F292c6912E7710c838347Ae178B4a\r\nthree"]),
            "one\r\ntwo [REDACTED:github_token]\r\nthree",
        ),
        (joined(&["-----BEGIN ", "PRIVATE KEY-----\nMIIE\n"]), "[REDACTED:private_key]\n\n"),
    ] {
        let redacted = redact(&text);
        assert_eq!(redacted.text, expected);
        assert_eq!(redacted.count, 1, "{text}");
    }
}

#[test]
fn text_that_resembles_secrets_is_kept() {
    for text in [
        "password = \"password\"",
        "password = \"correct_horse\"",
        "password: \"${DB_PASSWORD_1}\"",
        "token = \"<your-token-1A>\"",
        "secret = settings.secret_key2",
        "let token = tokens[\"identifier\"];",
        "api_key = os.environ[\"API_KEY_2A\"]",
        "https://example.org:8443/path@2x.png",
        "postgres://user:password@localhost/db",
        "commit 16c7e42f292c6912e7710c838347ae178b4a0000",
        "-----BEGIN CERTIFICATE-----",
        "AKIAISNOTAKEY",
        "eyJhbGciOiJIUzI1NiJ9",
        "sk-button-primary-hover-state-with-shadow-and-border",
        "if text.contains(\"-----BEGIN PRIVATE KEY-----\") {\n    return;\n}\n",
    ] {
        assert_eq!(redact(text), Redacted { text: Cow::Borrowed(text), count: 0 }, "{text}");
    }
}

#[test]
fn unquoted_text_is_an_expression_in_code_and_a_value_in_settings() {
    let line = joined(&["API_TOKEN=", "k9Xw2QpLr7Tz4VbN8mYc"]);
    assert_eq!(redact_file("deploy/.env", &line).text, "API_TOKEN=[REDACTED:password]");
    assert_eq!(redact_file("run.sh", &line).text, "API_TOKEN=REDACTED_password");
    assert_eq!(redact_file("main.py", &line).text, line);
}

#[test]
fn names_inside_a_long_quoted_value_are_examined() {
    let secret = joined(&["hunter2", "!Xy"]);
    for indent in ["", "  "] {
        let text = format!("password = \"{indent}{} db_password='{secret}' \"", "some words ".repeat(60));
        let redacted = redact(&text);
        assert!(!redacted.text.contains(&secret), "{indent:?}: {}", redacted.text);
    }
}

#[test]
fn every_replaced_secret_is_counted() {
    let key = joined(&["AKIA", "IOSFODNN7EXAMPLE"]);
    let redacted = redact(&format!("{key}\n{key}\n")).count;
    assert_eq!(redacted, 2);
}

/// Digest of the rules of the current `REDACTION_VERSION`.
const DIGEST: &str = "6:4f08ae386d95744c4b9d210fcc88ab4c";

#[test]
fn changed_rules_need_a_new_version() {
    let mut hasher = blake3::Hasher::new();
    rules::RULE_FILES.iter().for_each(|file| {
        hasher.update(file.as_bytes());
    });
    let digest = format!("{REDACTION_VERSION}:{}", &hasher.finalize().to_hex()[..32]);
    assert_eq!(
        digest, DIGEST,
        "the rule files changed: if any rule did, raise REDACTION_VERSION by one; then update DIGEST"
    );
}

#[test]
fn long_lines_and_many_keywords_take_linear_time() {
    let texts = [
        "a".repeat(1 << 20),
        "password ".repeat(100_000),
        "password=".repeat(20_000),
        "password: \"".repeat(10_000),
        "${".repeat(30_000),
        format!("password=\"{}", "${".repeat(500_000)),
        "://a:".repeat(20_000),
        "-----BEGIN PRIVATE KEY-----".repeat(3_000),
        "-----BEGIN PRIVATE KEY-----\n".repeat(3_000),
        "Private-Lines: 9999\n".repeat(5_000),
        "kind: Secret\ndata:\n".repeat(5_000),
        "kind: Secret\n---\n".repeat(5_000),
        "eyJ-".repeat(25_000),
        "sk-".repeat(30_000),
        "key_".repeat(25_000),
        "mysql ".repeat(15_000),
        "curl -u a:".repeat(10_000),
        "\"name\": \"password\" ".repeat(5_000),
        "Password=;Server=".repeat(6_000),
        "<password>".repeat(10_000),
        "token\u{e9}".repeat(15_000),
        "$ANSIBLE_VAULT;1.1;AES256\n0a".repeat(4_000),
        "bearer ".repeat(14_000),
        "passwordpassword".repeat(6_000),
        "password=|| \"".repeat(8_000),
        "\"password\")(".repeat(8_000),
        "\"password\").default(".repeat(6_000),
        "<password><![CDATA[".repeat(6_000),
        "set -x password ".repeat(6_000),
        "password: &a !!str ".repeat(6_000),
        "password: |\n ".repeat(8_000),
        "name = \"password\" a = ".repeat(5_000),
        "password: \"h0rse b4ttery\" ".repeat(4_000),
        "The API key is ``".repeat(6_000),
    ];
    for text in texts {
        let redacted = redact(&text);
        assert_eq!(redacted.text.matches('\n').count(), text.matches('\n').count());
        let _ = redact_file("a.yaml", &text);
    }
}

#[test]
fn only_the_values_of_kubernetes_secrets_are_replaced() {
    let text = joined(&[
        "kind: ConfigMap\ndata:\n  mode: fastpath\n---\nkind: Secret\nmetadata:\n  name: app\ndata:\n  user: YWRtaW4=\n  ",
        "pw: \"c2VjcmV0cGFzcw==\" # old\ntype: Opaque\n---\nkind: Service\ndata:\n  a: bcdefghi\n",
    ]);
    let redacted = redact_file("all.yaml", &text);
    assert_eq!(redacted.count, 2);
    assert!(
        redacted.text.contains("  pw: \"[REDACTED:kubernetes_secret]\" # old\ntype: Opaque"),
        "{}",
        redacted.text
    );
    assert!(redacted.text.contains("mode: fastpath") && redacted.text.contains("a: bcdefghi"));
}

proptest! {
    #[test]
    fn redaction_keeps_the_number_of_lines_and_is_idempotent(
        parts in prop::collection::vec(prop::sample::select(vec![
            "password = \"", "a1B!c2D?e3", "\"", "\n", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----",
            "ghp_16C7e42F292c6912E7710c838347Ae178B4a", " ", "://a:", "@b", "é", "AKIAIOSFODNN7EXAMPLE", "eyJ", ".",
            "kind: Secret\n", "data:\n", "  a: ", "PASSWORD=", "Authorization: Bearer ", "=", ":", ";", "--password ",
            "<password>", "</password>", "{", "$", "\\", "'", "MIIEabcdefghijklmnop\n", "-u a:", "?token=", "&",
            "Server=b;", "h0rse b4ttery st4ple", "<![CDATA[", "]]>", "&pw ", "|\n", "set -x ", " is ", "default=",
            "name: ", "value: ", "9f8e7d6c5b4a39281706f5e4",
        ]), 0..30),
        path in prop::sample::select(vec![
            "a.rs", ".env", "a.yaml", "a.properties", "a.sh", "a.json", "a.xml", "a.md", "Makefile",
        ]),
    ) {
        let text = parts.concat();
        let once = redact_file(path, &text);
        prop_assert_eq!(once.text.matches('\n').count(), text.matches('\n').count());
        let again = redact_file(path, &once.text);
        prop_assert_eq!((&again.text, again.count), (&once.text, 0));
    }

    #[test]
    fn any_text_is_accepted(text in "\\PC{0,200}", path in "[a-z.]{0,12}") {
        let redacted = redact_file(&path, &text);
        prop_assert_eq!(redacted.text.matches('\n').count(), text.matches('\n').count());
    }
}
