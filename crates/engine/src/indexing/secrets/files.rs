//! Recognises by their names files that contain secrets, which are never opened, and files that may.

use super::rules::RULES;

/// Returns whether the file contains secrets according to its name. Samples of such files and source files do not.
#[must_use]
pub(crate) fn is_secret_file(path: &str) -> bool {
    let path = path.to_lowercase();
    let name = file_name(&path);
    let rules = &RULES.file_names;
    if rules.names.contains(name) {
        return true;
    }
    if is_sample(name) {
        // A key or keystore that is named as a sample often contains a real key.
        return is_key_file(name);
    }
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let matches_stem = |stem: &String| matches_stem(stem, first_part(name), extension);
    name == ".env"
        || name.starts_with(".env.")
        || name == ".envrc"
        || name.starts_with(".env-")
        || name.starts_with(".env_")
        || (!stem.is_empty() && rules.extensions.contains(extension))
        || (stem.ends_with(".tfstate") && extension == "backup")
        // `id_rsa`, not `id_generator.py` and not `id_rsa.pub`.
        || (name.starts_with("id_") && extension.is_empty())
        || (is_data_file(&path)
            && (rules.data_file_stems.iter().any(matches_stem)
                || rules.stems_by_content.contains(first_part(name))
                    && !rules.extensions_by_content.contains(extension)))
        || rules.path_ends.iter().any(|end| ends_with_segments(&path, end))
}

/// Returns the part of the name, and the extension, that make the content of the file decide whether it contains secrets. The path is in
/// lower case.
pub(super) fn stem_by_content(path: &str) -> Option<(&str, &str)> {
    let name = file_name(path);
    let (_, extension) = name.rsplit_once('.')?;
    let rules = &RULES.file_names;
    let stem = first_part(name);
    let decides = rules.stems_by_content.contains(stem)
        && rules.extensions_by_content.contains(extension)
        && !is_sample(name)
        && is_data_file(path);
    decides.then_some((stem, extension))
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn first_part(name: &str) -> &str {
    name.trim_start_matches('.').split('.').next().unwrap_or(name)
}

fn is_sample(name: &str) -> bool {
    let mut parts = name.split(['.', '-', '_']).filter(|part| !part.is_empty());
    parts.any(|part| RULES.file_names.sample_words.iter().any(|word| word == part))
}

/// Returns whether the file contains data, and is not a template.
fn is_data_file(path: &str) -> bool {
    let rules = &RULES.file_names;
    let name = file_name(path);
    let in_templates =
        path.rsplit('/').skip(1).any(|directory| rules.template_directories.contains(directory));
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    (!name.contains('.') || rules.data_extensions.contains(extension)) && !in_templates
}

/// Returns whether the name is that of a key or keystore, which is secret even if it is named as a sample.
fn is_key_file(name: &str) -> bool {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    ["pem", "p12", "pfx", "key", "jks", "keystore", "kdbx", "ppk", "tfstate"].contains(&extension)
}

/// Returns whether a file with this first part and extension matches one of `data_file_stems`: `kubeconfig*`, `service-account*.json`.
fn matches_stem(stem: &str, first_part: &str, extension: &str) -> bool {
    let (stem, required_extension) = stem.split_once('.').unwrap_or((stem, extension));
    required_extension == extension
        && stem.strip_suffix('*').map_or(stem == first_part, |start| first_part.starts_with(start))
}

/// Returns whether the path ends in `end`. An `end` with a slash must match whole path segments.
fn ends_with_segments(path: &str, end: &str) -> bool {
    let Some(before) = path.strip_suffix(end) else { return false };
    let is_extension = !end.contains('/');
    is_extension && !before.is_empty() || before.is_empty() || before.ends_with('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "
        .env .env.local a/.env.production .ENV .envrc prod.env deploy/prod.env docker/db.env
        .vault-token home/.vault-token credentials .aws/credentials x/.aws/config credentials.json
        credentials.csv service-account.json service-account-prod.json serviceAccountKey.json
        terraform.tfvars prod.auto.tfvars prod.auto.tfvars.json terraform.tfstate
        terraform.tfstate.backup .s3cfg kubeconfig kubeconfig.yaml kubeconfig-prod
        kubeconfig_prod.yml prod.kubeconfig .pgpass .my.cnf .git-credentials .docker/config.json
        client.ovpn a.kdbx a.jks A.KEY id_rsa id_ed25519 .ssh/id_ecdsa putty.ppk .htpasswd
        secrets.yaml secrets.yml config/secrets.yml secrets.prod.yaml config/master.key .boto
        .dockercfg .terraformrc application_default_credentials.json App.mobileprovision
        AuthKey_ABC.p8 server.pem a.p12 a.pfx .npmrc .pypirc .netrc _netrc .kube/config
        release.keystore .config/gh/hosts.yml .cargo/credentials.toml .m2/settings.xml
        .pulumi/credentials.json .bash_history passwords.txt client_secret_123.json
        google-credentials.json krb5.keytab rootkey.csv .databrickscfg secrets.ejson .rclone.conf
        ssh_host_rsa_key .mylogin.cnf
    ";

    const NOT_SECRET: &str = "
        src/credentials.rs secrets.py password.ts token.go service_account.go id_generator.py
        id_rsa.pub environment.ts key.rs pem.go env.rs .env.example .env.sample .env.template
        env.example prod.env.template terraform.tfvars.example secrets.example.yaml
        secrets.yaml.dist secrets.template.json Credentials.java kubeconfig.go docs/secrets.md
        credentials_test.go service-account.ts tokens.css tokens.rs secret.rs environment.yml
        env.d.ts package.json settings.xml config.json keys.rs keyboard.json tokenizer.json
        password_reset.html credentials.sample.json config authorized_keys main.tf variables.tf
        docker-compose.yml passwords.sql.md README tokens.module.scss secrets/mod.rs auth.json
        master.key.rs charts/app/templates/secret.yaml templates/serviceaccount.yaml service-account.yaml
    ";

    #[test]
    fn files_with_secrets_are_recognised_by_name() {
        for path in SECRET.split_whitespace() {
            let may_be_secret = stem_by_content(&path.to_lowercase()).is_some();
            assert!(is_secret_file(path) || may_be_secret, "{path}");
        }
        for path in [
            "credentials.csv", "passwords.txt", "secrets.ejson", "kubeconfig.yaml", "credentials", ".secrets",
        ] {
            assert!(is_secret_file(path), "{path}");
        }
    }

    #[test]
    fn source_files_and_samples_are_not_secret() {
        for path in NOT_SECRET.split_whitespace() {
            assert!(!is_secret_file(path), "{path}");
            assert_eq!(stem_by_content(&path.to_lowercase()), None, "{path}");
        }
    }
}
