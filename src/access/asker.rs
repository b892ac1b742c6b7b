//! Who asks.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_saphyr::Spanned;

use super::Principal;
use crate::error::{Error, Result, nearest};

/// A person or service with what it may claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asker {
    /// The name that `--as` takes.
    pub id: String,
    /// Its roles.
    #[serde(default)]
    pub roles: Vec<String>,
    /// Accounts that it owns.
    #[serde(default)]
    pub accounts: Vec<String>,
    /// Regions that it works in.
    #[serde(default)]
    pub regions: Vec<String>,
    /// Why it is here, for people.
    #[serde(default)]
    pub notes: String,
}

impl Asker {
    /// Everything it may claim.
    pub fn principals(&self) -> BTreeSet<Principal> {
        let roles = self.roles.iter().cloned().map(Principal::Role);
        let accounts = self.accounts.iter().cloned().map(Principal::Owner);
        let regions = self.regions.iter().cloned().map(Principal::Region);
        roles.chain(accounts).chain(regions).chain([Principal::Everyone]).collect()
    }
}

/// The askers of a project: `users.yaml`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Askers(Vec<Asker>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    users: Vec<Spanned<Asker>>,
}

impl Askers {
    /// Reads `path`; an unknown key or a name that stands twice is an error with its line.
    pub fn read(path: &Path) -> Result<Self> {
        if !path.exists() {
            let help = "write it, or name another as `askers` in atlas.toml";
            return Err(Error::input(path, None, "there is no such file of askers", help));
        }
        let text =
            fs::read_to_string(path).map_err(|e| Error::reading("reading askers", path, e))?;
        let options = serde_saphyr::options! { with_snippet: false, strict_booleans: true };
        let file: File = serde_saphyr::from_str_with_options(&text, options)
            .map_err(|fault| super::policy::not_yaml(path, &text, "users", &fault))?;
        let mut askers: Vec<Asker> = Vec::with_capacity(file.users.len());
        for spanned in file.users {
            let line = spanned.referenced.line();
            if askers.iter().any(|known| known.id == spanned.value.id) {
                let problem = format!("asker `{}` stands here a second time", spanned.value.id);
                return Err(Error::input(path, Some(line), problem, "give each an id of its own"));
            }
            askers.push(spanned.value);
        }
        Ok(Self(askers))
    }

    /// The asker called `id`; `None` is an unknown one, which may read nothing.
    pub fn get(&self, id: &str) -> Option<&Asker> {
        self.0.iter().find(|asker| asker.id == id)
    }

    /// The asker called `id`, or what to say when there is none.
    pub fn known(&self, id: &str) -> std::result::Result<&Asker, String> {
        self.get(id).ok_or_else(|| {
            let near = nearest(id, self.0.iter().map(|asker| asker.id.as_str()));
            let help = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            format!("asker `{id}` is not in users.yaml, so nothing is visible{help}")
        })
    }

    /// All of them, in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = &Asker> {
        self.0.iter()
    }
}
