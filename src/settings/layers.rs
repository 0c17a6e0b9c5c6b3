//! One source of settings: the values as they were given, each with its source
//! for error messages. They are parsed only after all layers are merged.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::environment::Environment;
use super::error::ConfigError;
use super::keys::Key;
use super::values;

/// Settings that one source gave, or several merged.
#[derive(Debug, Clone, Default)]
pub struct Layer {
    given: BTreeMap<Key, Given>,
}

#[derive(Debug, Clone)]
struct Given {
    value: Value,
    source: Source,
    /// What it extends.
    below: Option<Box<Given>>,
}

#[derive(Debug, Clone)]
enum Value {
    One(OsString),
    Many(Vec<OsString>),
}

#[derive(Debug, Clone)]
enum Source {
    File(PathBuf),
    Environment,
    Flag,
}

impl Layer {
    /// The settings in the text of a configuration file.
    pub(crate) fn from_toml(text: &str, file: &Path) -> Result<Self, ConfigError> {
        let table: toml::Table = text
            .parse()
            .map_err(|error| syntax_error(&error, text, file))?;
        let mut layer = Self::default();
        for (name, value) in &table {
            let key = Key::from_name(name).ok_or_else(|| ConfigError::UnknownKey {
                key: name.clone(),
                file: file.to_owned(),
            })?;
            layer.set_from_toml(key, value, file)?;
        }
        Ok(layer)
    }

    /// The settings in the environment.
    pub(crate) fn from_environment(environment: &Environment) -> Self {
        let mut layer = Self::default();
        for &key in Key::ALL {
            if let Some(text) = environment.get(&key.variable()) {
                layer.set(key, Value::One(text.to_owned()), Source::Environment);
            }
        }
        layer
    }

    /// Adds a flag's value, when it was typed.
    pub fn flag(&mut self, key: Key, typed: Option<impl AsRef<OsStr>>) {
        if let Some(text) = typed {
            let value = Value::One(text.as_ref().to_owned());
            self.set(key, value, Source::Flag);
        }
    }

    /// Adds the values of a repeatable flag, when it was typed.
    pub fn flags(&mut self, key: Key, typed: &[impl AsRef<OsStr>]) {
        if !typed.is_empty() {
            let values = typed.iter().map(|text| text.as_ref().to_owned()).collect();
            self.set(key, Value::Many(values), Source::Flag);
        }
    }

    /// The globs of a repeatable flag.
    pub fn globs(key: Key, typed: &[impl AsRef<OsStr>]) -> Result<Vec<String>, ConfigError> {
        let mut layer = Self::default();
        layer.flags(key, typed);
        layer.list(key, values::glob)
    }

    /// Puts this layer on top of another: its values win. A list is replaced, unless
    /// it was typed: then it extends the one below, or without it, if one of its
    /// elements is empty.
    #[must_use]
    pub fn over(self, mut below: Self) -> Self {
        for (key, mut given) in self.given {
            let extended = below.given.remove(&key).filter(|_| given.extends());
            given.below = extended.map(Box::new).or(given.below);
            below.given.insert(key, given);
        }
        below
    }

    /// The value of a setting, read by `parse`.
    pub(crate) fn get<T>(
        &self,
        key: Key,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Option<T>, ConfigError> {
        let Some(given) = self.given.get(&key) else {
            return Ok(None);
        };
        match &given.value {
            Value::One(text) => given.read(key, text, parse).map(Some),
            Value::Many(list) => {
                Err(given.invalid(key, &join(list), "expected one value, not a list"))
            }
        }
    }

    /// The values of a list, each read by `parse`; empty ones are dropped.
    pub(crate) fn list<T>(
        &self,
        key: Key,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Vec<T>, ConfigError> {
        let Some(given) = self.given.get(&key) else {
            return Ok(Vec::new());
        };
        let mut list = Vec::new();
        for part in given.parts() {
            let elements = part.elements();
            let elements = elements.iter().filter(|text| !text.is_empty());
            for text in elements {
                list.push(part.read(key, text, &parse)?);
            }
        }
        Ok(list)
    }

    /// The value of a setting that is a path. A relative path in a file is
    /// relative to that file's folder, so that it means the same everywhere.
    pub(crate) fn path(&self, key: Key) -> Result<Option<PathBuf>, ConfigError> {
        let Some(given) = self.given.get(&key) else {
            return Ok(None);
        };
        let path = match &given.value {
            Value::One(text) if !text.is_empty() => Path::new(text),
            Value::One(_) => return Err(given.invalid(key, "", "expected the path of a file")),
            Value::Many(list) => {
                return Err(given.invalid(key, &join(list), "expected one path, not a list"));
            }
        };
        Ok(Some(match &given.source {
            Source::File(file) => file.parent().unwrap_or(Path::new("")).join(path),
            Source::Environment | Source::Flag => path.to_owned(),
        }))
    }

    /// The error for a value that conflicts with another one.
    pub(crate) fn conflict(&self, key: Key, allowed: &str) -> Option<ConfigError> {
        let given = self.given.get(&key)?;
        Some(given.invalid(key, &join(&given.elements()), allowed))
    }

    fn set(&mut self, key: Key, value: Value, source: Source) {
        let given = Given {
            value,
            source,
            below: None,
        };
        self.given.insert(key, given);
    }

    fn set_from_toml(
        &mut self,
        key: Key,
        value: &toml::Value,
        file: &Path,
    ) -> Result<(), ConfigError> {
        let source = Source::File(file.to_owned());
        let read = match value {
            toml::Value::Array(array) => array
                .iter()
                .map(scalar)
                .collect::<Option<_>>()
                .map(Value::Many),
            single => scalar(single).map(Value::One),
        };
        match read {
            Some(value) => {
                self.set(key, value, source);
                Ok(())
            }
            None => Err(ConfigError::Invalid {
                value: value.type_str().to_owned(),
                origin: origin(key, &source),
                allowed: "expected text, a number, true or false, or a list of them".to_owned(),
            }),
        }
    }
}

impl Given {
    /// Whether it is a list that extends the one below it.
    fn extends(&self) -> bool {
        matches!((&self.value, &self.source), (Value::Many(list), Source::Flag)
            if !list.iter().any(|text| text.is_empty()))
    }

    /// What it extends, and itself.
    fn parts(&self) -> Vec<&Self> {
        let mut parts: Vec<&Self> =
            std::iter::successors(Some(self), |part| part.below.as_deref()).collect();
        parts.reverse();
        parts
    }

    fn read<T>(
        &self,
        key: Key,
        text: &OsStr,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, ConfigError> {
        text.to_str()
            .ok_or_else(|| "expected text in UTF-8".to_owned())
            .and_then(parse)
            .map_err(|allowed| self.invalid(key, &text.to_string_lossy(), &allowed))
    }

    /// The parts of a list; a variable is split at `:`, as `PATH` is.
    fn elements(&self) -> Vec<OsString> {
        match (&self.value, &self.source) {
            (Value::Many(list), _) => list.clone(),
            (Value::One(text), Source::Environment) => match text.to_str() {
                Some(text) => text.split(':').map(OsString::from).collect(),
                None => vec![text.clone()],
            },
            (Value::One(text), _) => vec![text.clone()],
        }
    }

    fn invalid(&self, key: Key, value: &str, allowed: &str) -> ConfigError {
        ConfigError::Invalid {
            value: value.to_owned(),
            origin: origin(key, &self.source),
            allowed: allowed.to_owned(),
        }
    }
}

fn origin(key: Key, source: &Source) -> String {
    match source {
        Source::File(file) => format!("key {key} in {}", file.display()),
        Source::Environment => format!("environment variable {}", key.variable()),
        Source::Flag => key.flag(),
    }
}

fn scalar(value: &toml::Value) -> Option<OsString> {
    match value {
        toml::Value::String(text) => Some(text.into()),
        toml::Value::Integer(number) => Some(number.to_string().into()),
        toml::Value::Float(number) => Some(number.to_string().into()),
        toml::Value::Boolean(flag) => Some(flag.to_string().into()),
        toml::Value::Datetime(_) | toml::Value::Array(_) | toml::Value::Table(_) => None,
    }
}

fn join(list: &[OsString]) -> String {
    list.join(OsStr::new(", ")).to_string_lossy().into_owned()
}

fn syntax_error(error: &toml::de::Error, text: &str, file: &Path) -> ConfigError {
    let before = error
        .span()
        .and_then(|span| text.get(..span.start))
        .unwrap_or("");
    ConfigError::Syntax {
        file: file.to_owned(),
        line: before.matches('\n').count() + 1,
        message: error.message().replace('\n', ", "),
    }
}
