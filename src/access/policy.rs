//! `access.yaml`: which classifications there are, and who may read each.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Label;
use crate::error::{Error, Result, complaint, nearest};

/// Something that an asker may claim.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Principal {
    /// To be known at all.
    Everyone,
    /// To have a role.
    Role(String),
    /// To own an account.
    Owner(String),
    /// To work in a region.
    Region(String),
}

impl fmt::Display for Principal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Everyone => out.write_str("everyone"),
            Self::Role(role) => write!(out, "role {role}"),
            Self::Owner(account) => write!(out, "owner of {account}"),
            Self::Region(region) => write!(out, "region {region}"),
        }
    }
}

/// One alternative of a rule: all of these at once.
type Alternative = Vec<Demand>;

/// What a rule demands, before it is applied to a document.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Demand {
    Everyone,
    Role(String),
    Owner,
    Region,
}

/// The policy of a corpus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    rules: BTreeMap<String, Vec<Alternative>>,
    default: Option<String>,
    hash: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    classifications: BTreeMap<String, Rule>,
    default: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    read: Vec<Item>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Item {
    One(String),
    All(Vec<String>),
}

/// The value of `default` that closes documents without a classification.
const NOBODY: &str = "nobody";

impl Policy {
    /// Reads `path`. A policy that cannot be read is an error, never an open one.
    pub fn read(path: &Path) -> Result<Self> {
        let text =
            fs::read_to_string(path).map_err(|e| Error::reading("reading policy", path, e))?;
        let options = serde_saphyr::options! { with_snippet: false, strict_booleans: true };
        let file: File = serde_saphyr::from_str_with_options(&text, options)
            .map_err(|fault| not_yaml(path, &text, "classifications", &fault))?;
        if file.classifications.is_empty() {
            let problem = "`classifications` lists none, so nobody could read anything";
            return Err(Error::input(path, None, problem, "list at least one"));
        }
        let default = file.default.filter(|name| name != NOBODY);
        if let Some(name) = &default
            && !file.classifications.contains_key(name)
        {
            let near = nearest(name, file.classifications.keys().map(String::as_str));
            let help = near.map_or_else(
                || "name one of the classifications, or `nobody`".to_owned(),
                |near| format!("did you mean `{near}`?"),
            );
            let problem = format!("`default` is `{name}`, which `classifications` does not list");
            return Err(Error::input(path, None, problem, help));
        }
        let demand = |word: String| match word.as_str() {
            "everyone" => Demand::Everyone,
            "owner" => Demand::Owner,
            "region" => Demand::Region,
            _ => Demand::Role(word),
        };
        let mut rules = BTreeMap::new();
        for (name, rule) in file.classifications {
            let mut alternatives = Vec::with_capacity(rule.read.len());
            for item in rule.read {
                let words = match item {
                    Item::One(word) => vec![word],
                    Item::All(words) => words,
                };
                if words.is_empty() {
                    let problem =
                        format!("`{name}` has an empty alternative, which would open it to all");
                    return Err(Error::input(
                        path,
                        None,
                        problem,
                        "write `everyone` if that is meant",
                    ));
                }
                alternatives.push(words.into_iter().map(demand).collect());
            }
            rules.insert(name, alternatives);
        }
        Ok(Self { rules, default, hash: blake3::hash(text.as_bytes()).to_hex().to_string() })
    }

    /// BLAKE3 of the file, hexadecimal: a changed policy makes an index stale.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// The sets of principals that open `label`: whoever claims all of one set may read. No set:
    /// nobody may. An alternative that compares an account or a region which the document does not
    /// state never opens it.
    pub fn readers(&self, label: &Label) -> Vec<BTreeSet<Principal>> {
        let classification = label.classification.as_ref().or(self.default.as_ref());
        let Some(rule) = classification.and_then(|name| self.rules.get(name)) else {
            return Vec::new();
        };
        let principal = |demand: &Demand| match demand {
            Demand::Everyone => Some(Principal::Everyone),
            Demand::Role(role) => Some(Principal::Role(role.clone())),
            Demand::Owner => label.account.clone().map(Principal::Owner),
            Demand::Region => label.region.clone().map(Principal::Region),
        };
        rule.iter().filter_map(|all| all.iter().map(principal).collect()).collect()
    }

    /// Every role that a rule names.
    pub fn roles(&self) -> BTreeSet<&str> {
        let demands = self.rules.values().flatten().flatten();
        demands
            .filter_map(
                |demand| if let Demand::Role(role) = demand { Some(role.as_str()) } else { None },
            )
            .collect()
    }

    /// What is wrong with `label`, if anything: why nobody may read what carries it.
    pub fn fault(&self, label: &Label) -> Option<String> {
        match &label.classification {
            Some(name) if !self.rules.contains_key(name) => {
                let near = nearest(name, self.rules.keys().map(String::as_str));
                let help =
                    near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
                Some(format!(
                    "classification `{name}` is not in access.yaml, so nobody may read it{help}"
                ))
            }
            None if self.default.is_none() => {
                Some("it has no classification, and the policy's default is nobody".to_owned())
            }
            _ => None,
        }
    }
}

/// The fault of a policy, or of a file of askers, which must have the key `needed`.
pub(super) fn not_yaml(
    path: &Path,
    text: &str,
    needed: &str,
    fault: &serde_saphyr::Error,
) -> Error {
    if text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
        let form = "the form is described in corpus/README.md, \"Who may read what\"";
        return Error::input(path, None, format!("the file is empty; it needs {needed}"), form);
    }
    let place = fault.location();
    let before = place.and_then(|place| {
        let line = text.lines().nth((place.line() as usize).checked_sub(1)?)?;
        Some(line.chars().take((place.column() as usize).saturating_sub(1)).collect::<String>())
    });
    let (problem, meant) = complaint(&fault.to_string(), &before.unwrap_or_default());
    let line = place.map(|place| place.line());
    if problem.ends_with("must be a list") {
        return Error::input(path, line, problem + ", such as [staff, sales]", "");
    }
    let form = "the form is described in corpus/README.md, \"Who may read what\"";
    Error::input(path, line, problem, meant.as_deref().unwrap_or(form))
}

#[cfg(test)]
mod tests {
    use super::super::Asker;
    use super::*;

    const RULES: &str = "
classifications:
  public:    { read: [everyone] }
  financial: { read: [manager] }
  account:   { read: [owner, [manager, region]] }
default: nobody
";

    fn read(text: &str) -> Result<Policy> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("access.yaml");
        fs::write(&path, text).unwrap();
        Policy::read(&path)
    }

    fn asker(roles: &[&str], accounts: &[&str], regions: &[&str]) -> Asker {
        let owned = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect();
        Asker {
            id: "a".to_owned(),
            roles: owned(roles),
            accounts: owned(accounts),
            regions: owned(regions),
            notes: String::new(),
        }
    }

    fn label(classification: &str, account: &str, region: &str) -> Label {
        let some = |word: &str| (!word.is_empty()).then(|| word.to_owned());
        Label { classification: some(classification), account: some(account), region: some(region) }
    }

    fn may(policy: &Policy, asker: &Asker, label: &Label) -> bool {
        let claims = asker.principals();
        policy.readers(label).iter().any(|set| set.is_subset(&claims))
    }

    #[test]
    fn a_rule_opens_by_any_alternative_and_all_of_its_demands() {
        let policy = read(RULES).unwrap();
        let henderson = label("account", "henderson", "north");
        assert!(may(&policy, &asker(&[], &["henderson"], &[]), &henderson));
        assert!(may(&policy, &asker(&["manager"], &[], &["north"]), &henderson));
        assert!(!may(&policy, &asker(&["manager"], &[], &["south"]), &henderson));
        assert!(!may(&policy, &asker(&["manager"], &["other"], &[]), &label("account", "", "")));
        assert!(may(&policy, &asker(&[], &[], &[]), &label("public", "", "")));
        assert!(!may(&policy, &asker(&[], &[], &[]), &label("financial", "", "")));
    }

    #[test]
    fn what_is_unknown_or_unclassified_is_closed() {
        let policy = read(RULES).unwrap();
        let manager = asker(&["manager"], &[], &[]);
        for closed in [label("", "", ""), label("secret", "", "")] {
            assert!(!may(&policy, &manager, &closed));
            assert!(policy.fault(&closed).is_some());
        }
        let fault = policy.fault(&label("finacial", "", "")).unwrap();
        assert!(fault.ends_with("did you mean `financial`?"), "{fault}");
        let open = read(&RULES.replace("nobody", "public")).unwrap();
        assert!(may(&open, &manager, &label("", "", "")));
    }

    #[test]
    fn a_bad_policy_is_an_error_never_an_open_one() {
        let fault = |text: &str| {
            let message = read(text).unwrap_err().to_string();
            message.split_once("access.yaml").unwrap().1.to_owned()
        };
        assert!(fault("classifications: {}").contains("lists none"));
        let said = fault("classifications:\n  a: { read: [[]] }\n");
        assert!(said.contains("an empty alternative"), "{said}");
        let said = fault("classifications:\n  a: { reads: [everyone] }\n");
        assert_eq!(said, ":2: unknown key `reads`; did you mean `read`?");
        let said = fault("classifications:\n  a: { read: everyone }\n");
        assert_eq!(said, ":2: `read` must be a list, such as [staff, sales]");
        let said = fault("# nothing\n");
        assert!(said.starts_with(": the file is empty; it needs classifications"), "{said}");
        let said = fault("classifications:\n  public: { read: [everyone] }\ndefault: publik\n");
        assert!(said.contains("did you mean `public`?"), "{said}");
        assert!(Policy::read(Path::new("/nonexistent/access.yaml")).is_err());
    }
}
