//! Just enough of Rust's grammar to read the project's own sources: code apart
//! from comments and literals, tests skipped, `use` trees spelled out.

use std::collections::BTreeSet;

/// A source file without comments, literals and tests.
#[derive(Debug, Default)]
pub(crate) struct Source {
    /// The code, literals blanked.
    pub(crate) code: String,
    /// The texts of string literals outside tests.
    pub(crate) literals: Vec<String>,
    /// Modules in files of their own that are compiled for tests only.
    pub(crate) test_modules: Vec<String>,
    /// What `use` declarations bring in, one entry a name.
    pub(crate) imports: Vec<Import>,
    /// The paths in the rest of the code: `a::b::C`, without generics.
    pub(crate) mentions: Vec<Path>,
    /// The identifiers outside `use` and `mod` declarations.
    pub(crate) names: BTreeSet<String>,
}

/// The segments of a path as the code spells them. Inside `mod x { … }`, a
/// `super` that leads no further than the file is `self`.
pub(crate) type Path = Vec<String>;

/// One name that a `use` declaration brings in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Import {
    /// What it stands for; `*` is the last segment of a glob.
    pub(crate) path: Path,
    /// The name in this file: the last segment, or what follows `as`.
    pub(crate) name: String,
    /// Whether others can reach it through this file.
    pub(crate) is_public: bool,
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
        source.read_paths();
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

    /// All paths, of imports and others.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        let imported = self.imports.iter().map(|import| &import.path);
        imported.chain(&self.mentions)
    }

    fn read_paths(&mut self) {
        let code = std::mem::take(&mut self.code);
        let tokens = tokens(&code);
        // How many braces were open where each inline module began.
        let mut inline_modules = Vec::new();
        let mut braces = 0;
        let mut at = 0;
        while at < tokens.len() {
            let next = tokens.get(at + 1).copied().unwrap_or_default();
            match tokens[at] {
                "{" => braces += 1,
                "}" => {
                    braces -= 1;
                    inline_modules.pop_if(|start| *start == braces);
                }
                "mod" => {
                    if tokens.get(at + 2) == Some(&"{") {
                        inline_modules.push(braces);
                    }
                    // The name that it declares is not a use of it.
                    at += 1;
                }
                // `use<'a>` captures lifetimes.
                "use" if next != "<" => {
                    let is_public = is_public(&tokens[..at]);
                    let first = self.imports.len();
                    at = read_use_tree(&tokens, at + 1, &mut Vec::new(), &mut self.imports);
                    for import in &mut self.imports[first..] {
                        import.is_public = is_public;
                        leave_inline_modules(&mut import.path, inline_modules.len());
                    }
                    continue;
                }
                word if word.starts_with(is_word_char) => {
                    let mut path = vec![word.to_owned()];
                    while tokens.get(at + 1) == Some(&"::")
                        && let Some(segment) = tokens.get(at + 2)
                        && segment.starts_with(is_word_char)
                    {
                        path.push((*segment).to_owned());
                        at += 2;
                    }
                    self.names.extend(path.iter().cloned());
                    if path.len() > 1 {
                        leave_inline_modules(&mut path, inline_modules.len());
                        self.mentions.push(path);
                    }
                }
                _ => {}
            }
            at += 1;
        }
        self.code = code;
    }
}

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Identifiers, `::`, and all other characters one by one.
fn tokens(code: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = if is_word_char(first) {
            rest.find(|c| !is_word_char(c)).unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        let (token, after) = rest.split_at(length);
        tokens.push(token);
        rest = after.trim_start();
    }
    tokens
}

/// Whether the tokens before `use` end in `pub` or `pub(…)`.
fn is_public(before: &[&str]) -> bool {
    match before {
        [.., "pub"] => true,
        [.., ")"] => {
            let open = before.iter().rposition(|token| *token == "(");
            open.is_some_and(|open| open > 0 && before[open - 1] == "pub")
        }
        _ => false,
    }
}

/// Spells out the `use` tree at `at`: `a::{b, c::d}` is `a::b` and `a::c::d`.
/// Returns where the tree ends.
fn read_use_tree(
    tokens: &[&str],
    mut at: usize,
    prefix: &mut Path,
    imports: &mut Vec<Import>,
) -> usize {
    let depth = prefix.len();
    while let Some(token) = tokens.get(at) {
        match *token {
            "{" => {
                at += 1;
                while tokens.get(at).is_some_and(|token| *token != "}") {
                    let end = read_use_tree(tokens, at, prefix, imports);
                    let is_more = tokens.get(end).is_some_and(|token| *token != "}");
                    at = end + usize::from(is_more);
                }
                prefix.truncate(depth);
                return at + 1;
            }
            "::" => at += 1,
            word if word == "*" || word.starts_with(is_word_char) => {
                prefix.push(word.to_owned());
                at += 1;
                if tokens.get(at) != Some(&"::") {
                    break;
                }
            }
            _ => break,
        }
    }
    let mut path = prefix.clone();
    if path.len() > 1 {
        path.pop_if(|last| last == "self");
    }
    let mut name = path.last().cloned().unwrap_or_default();
    if tokens.get(at) == Some(&"as") {
        name = tokens.get(at + 1).copied().unwrap_or_default().to_owned();
        at += 2;
    }
    imports.push(Import {
        path,
        name,
        is_public: false,
    });
    prefix.truncate(depth);
    at
}

/// Takes the `super`s off that lead out of inline modules only.
fn leave_inline_modules(path: &mut Path, inline_modules: usize) {
    let supers = path.iter().take_while(|segment| *segment == "super");
    let inside = supers.count().min(inline_modules);
    if inside > 0 {
        path.splice(..inside, ["self".to_owned()]);
        if path.get(1).is_some_and(|segment| segment == "super") {
            path.remove(0);
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
        // What can begin none of these goes over in one piece.
        let plain = rest.find(['/', '"', '\'', 'r', 'b', 'c']);
        let plain = plain.unwrap_or(rest.len());
        if plain > 0 {
            code.push_str(&rest[..plain]);
            at += plain;
            continue;
        }
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

    fn imports(text: &str) -> Vec<String> {
        let source = Source::read(text);
        let spelled = |import: &Import| {
            let public = if import.is_public { "pub " } else { "" };
            format!("{public}{} as {}", import.path.join("::"), import.name)
        };
        source.imports.iter().map(spelled).collect()
    }

    fn mentions(text: &str) -> Vec<String> {
        let source = Source::read(text);
        source.mentions.iter().map(|path| path.join("::")).collect()
    }

    #[test]
    fn use_trees_are_spelled_out() {
        assert_eq!(
            imports(
                "use crate::{a, b::{self, c, d as e}, f::*,};\npub(crate) use g::H; pub use i;"
            ),
            [
                "crate::a as a",
                "crate::b as b",
                "crate::b::c as c",
                "crate::b::d as e",
                "crate::f::* as *",
                "pub g::H as H",
                "pub i as i",
            ]
        );
        assert_eq!(imports("fn a<'a>() -> impl Sized + use<'a> {}"), [""; 0]);
    }

    #[test]
    fn paths_in_code_are_found_without_their_generics() {
        assert_eq!(
            mentions("use a::b;\nfn x() -> y { crate::g::h::<super::I>(j, k.l()) }"),
            ["crate::g::h", "super::I"]
        );
    }

    #[test]
    fn an_inline_module_is_part_of_its_file() {
        let text =
            "mod system { use super::A; fn b() { super::super::c(); self::d() } }\nuse super::E;";
        assert_eq!(imports(text), ["self::A as A", "super::E as E"]);
        assert_eq!(mentions(text), ["super::c", "self::d"]);
    }
}
