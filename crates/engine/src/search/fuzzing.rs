//! What fuzzing drives here: questions and filters, as anybody may type them.

use serde_json::{Map, Value};

use super::fields;
use super::given::{Given, GivenValue, from_text, given};
use super::pattern::path_regex;
use super::question::Question;
use super::shape::Shape;
use languages::terms::query_terms;

/// Questions to begin with.
pub fn questions() -> Vec<Vec<u8>> {
    let typed = [
        "how are sessions refreshed",
        "retry -test \"back off\" AND (jitter OR delay) NOT lang:go",
        "path:'src/**/*.rs' calls:sleep async:true branchesMin:3 chunk:12",
        "-( a b OR \"c d\") !e lang:\"c#\" type:function,method fn f(x: u32) -> Option<&str>",
        "ShoppingCart::add_item getUserName snake_case kebab-case HTTPServer2",
    ];
    typed.map(|text| text.as_bytes().to_vec()).to_vec()
}

/// A question: what was understood can be printed, and reads back as the same.
pub fn question(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let known = |word: &str| fields::field(word).map(|field| field.name);
    let parsed = Question::parse(&text, &known);
    let printed = parsed.question.to_string();
    // A pasted text ranks by its lines, which a printed one has as well.
    let again = Question::parse(&printed, &known);
    assert_eq!(again.question, parsed.question, "printed as {printed:?}");
    assert_eq!(again.malformed, None, "printed as {printed:?}");
    let shape = Shape::of(&parsed.question.text);
    for share in [shape.symbol, shape.sentence, shape.issue, shape.usage, shape.manifest] {
        assert!((0.0..=1.0).contains(&share), "{shape:?}");
    }
    for term in query_terms(&parsed.question.text, None) {
        assert!(term.weight.is_finite() && term.weight >= 0.0, "{term:?}");
    }
}

/// Filters to begin with: JSON objects, or a field and a value for it on the next line.
pub fn given_filters() -> Vec<Vec<u8>> {
    let seeds = [
        "path\nsrc/**/{a,b}[!c]?.rs",
        "file\n/^(main|lib)\\.[a-z]{2,3}$/",
        "lang\nrust, c++",
        "metaJson\n{\"owner\": \"core\", \"n\": 1}",
        "meta\nowner=core",
        "modifiedSince\n7.5",
        "async\nyes",
        r#"{"path": ["src/**", "/\\.rs$/"], "ext": ".rs", "branchesMin": 3, "async": false, "meta": [{"a": 1}, "b=c"], "author": "ann,bob"}"#,
    ];
    seeds.map(|text| text.as_bytes().to_vec()).to_vec()
}

/// A filter: what is taken holds no NUL and stays within bounds, and text says what the same text says in JSON.
pub fn filter(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Ok(Value::Object(arguments)) = serde_json::from_str::<Value>(&text) {
        given(&arguments).unwrap_or_default().iter().for_each(check);
    } else if let Some((name, value)) = text.split_once('\n')
        && let Some(field) = fields::field(name)
        && let Ok(read) = from_text(field, value)
    {
        let arguments = Map::from_iter([(field.name.to_owned(), Value::String(value.to_owned()))]);
        let same = given(&arguments).unwrap_or_default().pop();
        let read = Given { field, value: read };
        assert_eq!(same.as_ref(), Some(&read), "as JSON");
        check(&read);
    }
}

fn check(given: &Given) {
    let texts: Vec<&str> = match &given.value {
        GivenValue::Texts(texts) => texts.iter().map(String::as_str).collect(),
        GivenValue::Pairs(pairs) => {
            pairs.iter().flat_map(|(key, value)| [Some(key.as_str()), value.as_deref()]).flatten().collect()
        }
        GivenValue::Number(number) => {
            assert!(number.is_finite() && *number >= 0.0, "{given}");
            Vec::new()
        }
        GivenValue::Flag(_) => Vec::new(),
    };
    for text in texts {
        assert!(!text.contains('\0'), "a NUL in {}", given.field.name);
        for exact_case in [false, true] {
            if let Ok(pattern) = path_regex(text, exact_case) {
                assert!(!pattern.contains('\0') && pattern.len() <= 64 * 1024, "{} bytes", pattern.len());
            }
        }
    }
}
