//! Just enough of Rust's grammar to read the project's own sources: code apart
//! from comments and literals, tests left out, `use` trees spelled out.

/// A source file without comments, literals and tests.
#[derive(Debug, Default)]
pub(crate) struct Source {
    /// The code, literals blanked.
    pub(crate) code: String,
    /// The texts of string literals outside tests.
    pub(crate) literals: Vec<String>,
    /// Modules in files of their own that are compiled for tests only.
    pub(crate) test_modules: Vec<String>,
}

impl Source {
    /// Reads the text of a file.
    pub(crate) fn read(text: &str) -> Self {
        let (code, literals) = lex(text);
        let mut source = Self::default();
        let mut rest = 0;
        while let Some(found) = code[rest..].find("#[cfg(test)]") {
            let start = rest + found;
            let end = item_end(&code, start + "#[cfg(test)]".len());
            source.keep(&code[rest..start], rest, &literals);
            source.test_modules.extend(file_module(&code[start..end]));
            rest = end;
        }
        source.keep(&code[rest..], rest, &literals);
        source
    }

    fn keep(&mut self, part: &str, offset: usize, literals: &[(usize, String)]) {
        self.code.push_str(part);
        let inside = |at: usize| (offset..offset + part.len()).contains(&at);
        let kept = literals.iter().filter(|(at, _)| inside(*at));
        self.literals.extend(kept.map(|(_, text)| text.clone()));
    }

    /// Whether an identifier occurs in the code.
    pub(crate) fn has_word(&self, word: &str) -> bool {
        self.words().any(|(_, found)| found == word)
    }

    /// The identifiers in the code and where they start.
    pub(crate) fn words(&self) -> impl Iterator<Item = (usize, &str)> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let start = at + self.code[at..].find(is_word_char)?;
            let length = self.code[start..].find(|c| !is_word_char(c));
            let end = length.map_or(self.code.len(), |length| start + length);
            at = end;
            Some((start, &self.code[start..end]))
        })
    }

    /// The paths of ours that the code uses, from the crate's root on. `depth`
    /// is how many modules deep the file lies (`src/a.rs` and `src/a/mod.rs`
    /// are 1 deep).
    pub(crate) fn own_paths(&self, depth: usize) -> Vec<String> {
        let mut paths = Vec::new();
        let mut supers = 0;
        let mut last_end = 0;
        for (start, word) in self.words() {
            let end = start + word.len();
            let follows = self.code[last_end..start].trim() == "::";
            supers = match word {
                "super" if follows && supers > 0 => supers + 1,
                "super" => 1,
                _ => 0,
            };
            last_end = end;
            let is_root = word == "crate" || (supers > 0 && supers == depth);
            if let Some(tree) = self.code[end..].trim_start().strip_prefix("::")
                && is_root
            {
                expand(tree, "", &mut paths);
            }
        }
        paths
    }
}

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Spells out a `use` tree: `a::{b, c::d}` is `a::b` and `a::c::d`. Returns
/// what follows the tree.
fn expand<'a>(tree: &'a str, prefix: &str, paths: &mut Vec<String>) -> &'a str {
    let tree = tree.trim_start();
    let join = |word: &str| match prefix {
        "" => word.to_owned(),
        _ => format!("{prefix}::{word}"),
    };
    if let Some(mut inner) = tree.strip_prefix('{') {
        loop {
            inner = inner.trim_start();
            if let Some(after) = inner.strip_prefix('}') {
                return after;
            }
            let before = inner.len();
            inner = expand(inner, prefix, paths).trim_start();
            inner = inner.strip_prefix(',').unwrap_or(inner);
            if inner.len() == before {
                return inner;
            }
        }
    }
    let end = tree
        .find(|c| !is_word_char(c) && c != '*')
        .unwrap_or(tree.len());
    let (word, rest) = tree.split_at(end);
    let path = join(word);
    match rest.trim_start().strip_prefix("::") {
        Some(deeper) => expand(deeper, &path, paths),
        None => {
            paths.push(path);
            // `as name` may follow.
            match rest.trim_start().strip_prefix("as ") {
                Some(alias) => alias.trim_start().trim_start_matches(is_word_char),
                None => rest,
            }
        }
    }
}

/// Where the item that follows an attribute ends: at its `;`, or at the brace
/// that closes its body.
fn item_end(code: &str, start: usize) -> usize {
    let mut depth = 0;
    for (at, c) in code[start..].char_indices() {
        match c {
            '{' | '(' | '[' => depth += 1,
            '}' if depth == 1 => return start + at + 1,
            '}' | ')' | ']' => depth -= 1,
            ';' | ',' if depth == 0 => return start + at + 1,
            _ => {}
        }
        if depth < 0 {
            return start + at;
        }
    }
    code.len()
}

/// `name` in an item `mod name;`.
fn file_module(item: &str) -> Option<String> {
    let item = item.trim_end().strip_suffix(';')?;
    let (_, name) = item.rsplit_once("mod ")?;
    Some(name.trim().to_owned())
}

/// Splits code from literals: comments and literals become blanks of the same
/// length, so that offsets stay.
fn lex(text: &str) -> (String, Vec<(usize, String)>) {
    let bytes = text.as_bytes();
    let mut code = String::with_capacity(text.len());
    let mut literals = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text[at..];
        let end = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_comment(rest)
        } else if let Some((content, end)) = string(rest, code.chars().last()) {
            literals.push((at, content));
            end
        } else if let Some(end) = character(rest) {
            end
        } else {
            let c = rest.chars().next().unwrap();
            code.push(c);
            at += c.len_utf8();
            continue;
        };
        code.extend(std::iter::repeat_n(' ', end));
        at += end;
    }
    (code, literals)
}

fn block_comment(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().unwrap().len_utf8();
        }
    }
    text.len()
}

/// A string literal at the start of `text`: its content and its length.
fn string(text: &str, before: Option<char>) -> Option<(String, usize)> {
    if before.is_some_and(is_word_char) {
        return None;
    }
    let opening = text.trim_start_matches(['b', 'c']);
    if text.len() - opening.len() > 1 {
        return None;
    }
    if let Some(raw) = opening.strip_prefix('r') {
        let body = raw.trim_start_matches('#');
        let body = body.strip_prefix('"')?;
        let hashes = raw.len() - body.len() - 1;
        let closing = format!("\"{}", "#".repeat(hashes));
        let length = body.find(&closing)?;
        let start = text.len() - body.len();
        return Some((body[..length].to_owned(), start + length + closing.len()));
    }
    let body = opening.strip_prefix('"')?;
    let mut escaped = false;
    for (at, c) in body.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some((body[..at].to_owned(), text.len() - body.len() + at + 1)),
            _ => {}
        }
    }
    None
}

/// A character literal at the start of `text`; a lifetime is none.
fn character(text: &str) -> Option<usize> {
    let body = text.strip_prefix('\'')?;
    let first = body.chars().next()?;
    if first == '\\' {
        let skip = 1 + body[1..].chars().next()?.len_utf8();
        return Some(1 + skip + body[skip..].find('\'')? + 1);
    }
    let after = &body[first.len_utf8()..];
    after.starts_with('\'').then_some(first.len_utf8() + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_literals_and_tests_are_no_code() {
        let source = Source::read(
            r####"
            // unsafe
            /* unsafe /* unsafe */ unsafe */
            fn a<'a>(x: &'a str) -> char { let _ = ("unsafe \" {", r#"unsafe " "#, b"unsafe"); '\'' }
            fn b() -> char { '"' }
            #[cfg(test)]
            mod tests { fn c() { unsafe { "in a test" } } }
            #[cfg(test)]
            mod fakes;
            fn after() {}
            "####,
        );
        assert!(!source.has_word("unsafe"), "{}", source.code);
        assert!(source.has_word("after") && source.has_word("b"));
        assert_eq!(source.literals, ["unsafe \\\" {", "unsafe \" ", "unsafe"]);
        assert_eq!(source.test_modules, ["fakes"]);
    }

    #[test]
    fn use_trees_are_spelled_out() {
        let source = Source::read(
            "use crate::{a, b::{c, d as e}, f::*};\nfn x() { crate::g::h(); super::i(); super::super::j::k() }",
        );
        let paths = |depth| source.own_paths(depth);
        assert_eq!(
            paths(1),
            ["a", "b::c", "b::d", "f::*", "g::h", "i", "super::j::k"]
        );
        assert_eq!(paths(2), ["a", "b::c", "b::d", "f::*", "g::h", "j::k"]);
    }
}
