//! Fuzz targets: queries and filters.

use serde_json::{Map, Value};

use crate::search::filters::fields;
use crate::search::filters::pattern::path_regex;
use crate::search::filters::request_filter::{FilterValue, RequestFilter, from_text, parse_filters};
use crate::search::query::SearchQuery;
use crate::search::query::query_class::QueryClass;
use languages::terms::query_terms;

/// Returns the seeds of [`query`].
pub fn query_seeds() -> Vec<Vec<u8>> {
    let typed = [
        "how are sessions refreshed",
        "retry -test \"back off\" AND (jitter OR delay) NOT lang:go",
        "path:'src/**/*.rs' calls:sleep async:true branchesMin:3 chunk:12",
        "-( a b OR \"c d\") !e lang:\"c#\" type:function,method fn f(x: u32) -> Option<&str>",
        "retry content:/sleep\\((\\d+|a b)\\)\\/x/i (content:\"a  (b\" OR content:/c d/) -content:/[)]/",
        "ShoppingCart::add_item getUserName snake_case kebab-case HTTPServer2",
    ];
    typed.map(|text| text.as_bytes().to_vec()).to_vec()
}

/// Checks that the printed form of a query parses to the same query.
pub fn query(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let parsed = SearchQuery::parse(&text, &fields::field_name);
    let printed = parsed.query.to_string();
    let again = SearchQuery::parse(&printed, &fields::field_name);
    assert_eq!(again.query, parsed.query, "printed as {printed:?}");
    assert_eq!(again.malformed, None, "printed as {printed:?}");
    let class = QueryClass::new(&parsed.query.text);
    for share in [class.symbol, class.sentence, class.issue, class.usage, class.manifest] {
        assert!((0.0..=1.0).contains(&share), "{class:?}");
    }
    for term in query_terms(&parsed.query.text, None) {
        assert!(term.weight.is_finite() && term.weight >= 0.0, "{term:?}");
    }
}

/// Returns the seeds of [`filter`]: JSON objects, or a field with its value on the next line.
pub fn filter_seeds() -> Vec<Vec<u8>> {
    let seeds = [
        "path\nsrc/**/{a,b}[!c]?.rs",
        "file\n/^(main|lib)\\.[a-z]{2,3}$/",
        "lang\nrust, c++",
        "metaJson\n{\"owner\": \"core\", \"n\": 1}",
        "meta\nowner=core",
        "modifiedSince\n7.5",
        "async\nyes",
        "content\n/fn \\w+\\(/i",
        r#"{"path": ["src/**", "/\\.rs$/"], "ext": ".rs", "branchesMin": 3, "async": false, "meta": [{"a": 1}, "b=c"], "author": "ann,bob"}"#,
    ];
    seeds.map(|text| text.as_bytes().to_vec()).to_vec()
}

/// Checks that parsed filters contain no NUL and stay within their limits, and that a text has the same value in JSON.
pub fn filter(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Ok(Value::Object(arguments)) = serde_json::from_str::<Value>(&text) {
        parse_filters(&arguments).unwrap_or_default().iter().for_each(check);
    } else if let Some((name, value)) = text.split_once('\n')
        && let Some(field) = fields::field(name)
        && let Ok(read) = from_text(field, value)
    {
        let arguments = Map::from_iter([(field.name.to_owned(), Value::String(value.to_owned()))]);
        let same = parse_filters(&arguments).unwrap_or_default().pop();
        let read = RequestFilter { field, value: read };
        assert_eq!(same.as_ref(), Some(&read), "as JSON");
        check(&read);
    }
}

fn check(filter: &RequestFilter) {
    let texts: Vec<&str> = match &filter.value {
        FilterValue::Texts(texts) => texts.iter().map(String::as_str).collect(),
        FilterValue::Pairs(pairs) => {
            pairs.iter().flat_map(|(key, value)| [Some(key.as_str()), value.as_deref()]).flatten().collect()
        }
        FilterValue::Number(number) => {
            assert!(number.is_finite() && *number >= 0.0, "{filter}");
            Vec::new()
        }
        FilterValue::Boolean(_) => Vec::new(),
    };
    for text in texts {
        assert!(!text.contains('\0'), "a NUL in {}", filter.field.name);
        for exact_case in [false, true] {
            if let Ok(pattern) = path_regex(text, exact_case) {
                assert!(!pattern.contains('\0') && pattern.len() <= 64 * 1024, "{} bytes", pattern.len());
            }
        }
    }
}
