//! What people said of one question: which units answer it, and how well.
//!
//! Two shapes of judgment come in. The mission's is *evidence groups*: every group is needed, and
//! any one unit of a group will do (`E-417` is explained in the C-3 manual and in the T-7 manual;
//! one of the two is a full answer). The field's is *qrels*: a grade for each unit. [`Judgments`]
//! holds both, and every measure reads it through [`Judgments::walk`], so that a measure is written
//! once: for qrels each relevant unit is a group of its own, and the group definitions become the
//! textbook ones.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::{Error, Result};

/// The judgments of one question.
///
/// A list of needed blocks is not enough: with two equivalent blocks listed, an engine that returns
/// the right one would score a recall of one half. So evidence is *all of* over *any of*.
///
/// Invariants: no group is empty; a unit of a group is relevant whatever its grade; a grade below
/// zero means "in the pool, not judged" and is never a negative gain.
///
/// ```
/// use atlas::eval::judgments::Judgments;
/// let judgments = Judgments::from_groups([vec!["ERR-C3-E417", "ERR-T7-E417"], vec!["BAT-1"]])?;
/// assert_eq!(judgments.covered(&["ERR-T7-E417"]), 1);
/// assert_eq!(judgments.groups().len(), 2);
/// # Ok::<(), atlas::error::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Judgments {
    groups: Vec<Vec<String>>,
    grades: BTreeMap<String, i32>,
    groups_of: BTreeMap<String, Vec<usize>>,
}

/// What the judgments say of one unit of a ranking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It belongs to an evidence group (qrels: its grade reaches the level).
    Relevant,
    /// It was judged, and does not.
    NotRelevant,
    /// It was in the judging pool and left unjudged: a grade below zero.
    PoolUnjudged,
    /// Nobody ever looked at it.
    Unjudged,
}

/// One place of a ranking, as the measures see it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Place {
    /// What was judged of the unit here.
    pub standing: Standing,
    /// Evidence groups that this unit is the first to cover.
    pub newly_covered: usize,
    /// The gain earned here, at least 0: the unit's grade for every group newly covered; its own
    /// grade where it belongs to no group; nothing where all its groups were covered above.
    pub gain: f64,
}

impl Place {
    /// Whether the unit here answers the question, in part or in whole.
    pub fn is_relevant(&self) -> bool {
        self.standing == Standing::Relevant
    }

    /// Whether a person judged the unit here.
    pub fn is_judged(&self) -> bool {
        matches!(self.standing, Standing::Relevant | Standing::NotRelevant)
    }
}

impl Judgments {
    /// Judgments in the mission's form: every group is needed, any unit of a group will do.
    ///
    /// Every unit gets grade 1. No groups at all is a question that cannot be scored; a group
    /// without a unit could never be covered and is refused.
    pub fn from_groups<G, U>(groups: impl IntoIterator<Item = G>) -> Result<Self>
    where
        G: IntoIterator<Item = U>,
        U: Into<String>,
    {
        let mut made = Self::default();
        for (index, group) in groups.into_iter().enumerate() {
            let units: Vec<String> = group.into_iter().map(Into::into).collect();
            if units.is_empty() {
                let what = format!("evidence group {}", index + 1);
                return Err(Error::invalid(what, "empty", "at least one unit that answers"));
            }
            made.push_group(units);
        }
        Ok(made)
    }

    /// Adds grades to evidence groups: degrees of relevance, and units judged not relevant.
    ///
    /// A unit outside the groups may have any grade. A unit of a group must have at least 1, because
    /// a unit cannot be needed evidence and not relevant at once.
    pub fn with_grades<U: Into<String>>(
        mut self,
        grades: impl IntoIterator<Item = (U, i32)>,
    ) -> Result<Self> {
        for (unit, grade) in grades {
            let unit = unit.into();
            if grade < 1 && self.groups_of.contains_key(&unit) {
                let what = format!("the grade of {unit}, which is listed as evidence,");
                return Err(Error::invalid(what, grade, "1 or more"));
            }
            self.grades.insert(unit, grade);
        }
        Ok(self)
    }

    /// Judgments in the field's form: a grade for each unit.
    ///
    /// A unit is relevant when its grade is at least `level` (usually 1) and not below zero; each
    /// relevant unit is an evidence group of its own. The level changes the yes-or-no measures only:
    /// nDCG reads the grades.
    pub fn from_qrels<U: Into<String>>(
        grades: impl IntoIterator<Item = (U, i32)>,
        level: i32,
    ) -> Self {
        let mut made = Self {
            grades: grades.into_iter().map(|(unit, grade)| (unit.into(), grade)).collect(),
            ..Self::default()
        };
        let relevant = made.grades.iter().filter(|&(_, &grade)| grade >= level && grade >= 0);
        let relevant: Vec<String> = relevant.map(|(unit, _)| unit.clone()).collect();
        for unit in relevant {
            made.push_group(vec![unit]);
        }
        made
    }

    /// The evidence groups: all are needed, any unit of one will do.
    pub fn groups(&self) -> &[Vec<String>] {
        &self.groups
    }

    /// The grade of every judged unit; below zero means in the pool and not judged.
    pub fn grades(&self) -> &BTreeMap<String, i32> {
        &self.grades
    }

    /// Whether anything answers the question: without it hit, recall, precision and rank are none.
    pub fn is_scoreable(&self) -> bool {
        !self.groups.is_empty()
    }

    /// Units that were judged and are not relevant.
    pub fn not_relevant(&self) -> usize {
        let judged = self.grades.iter().filter(|&(_, &grade)| grade >= 0);
        judged.filter(|&(unit, _)| !self.groups_of.contains_key(unit)).count()
    }

    /// What was judged of one unit.
    pub fn standing(&self, unit: &str) -> Standing {
        if self.groups_of.contains_key(unit) {
            return Standing::Relevant;
        }
        match self.grades.get(unit) {
            Some(&grade) if grade < 0 => Standing::PoolUnjudged,
            Some(_) => Standing::NotRelevant,
            None => Standing::Unjudged,
        }
    }

    /// Evidence groups with at least one unit in `ranking`.
    pub fn covered(&self, ranking: &[&str]) -> usize {
        self.walk(ranking).iter().map(|place| place.newly_covered).sum()
    }

    /// The ranking as the measures see it, best first, in the order given.
    ///
    /// A unit that comes twice is seen once, at its first place: [`distinct`] closes the gap before
    /// anything is counted.
    pub fn walk(&self, ranking: &[&str]) -> Vec<Place> {
        let mut covered = vec![false; self.groups.len()];
        distinct(ranking).into_iter().map(|unit| self.place(unit, &mut covered)).collect()
    }

    /// The gains of the best possible ranking, largest first: the highest grade of each group, and
    /// the grade of each unit in no group; gains of zero are left out.
    pub fn ideal_gains(&self) -> Vec<f64> {
        let grade = |unit: &String| self.grades.get(unit).copied().unwrap_or(0);
        let of_groups = self.groups.iter().filter_map(|group| group.iter().map(grade).max());
        let alone = self.grades.iter().filter(|&(unit, _)| !self.groups_of.contains_key(unit));
        let mut gains: Vec<i32> =
            of_groups.chain(alone.map(|(_, &grade)| grade)).filter(|&gain| gain > 0).collect();
        gains.sort_unstable_by(|a, b| b.cmp(a));
        gains.into_iter().map(f64::from).collect()
    }

    /// Every unit that is named, in a group or with a grade, each once, by name.
    pub fn units(&self) -> impl Iterator<Item = &str> {
        // A unit of a group always has a grade.
        self.grades.keys().map(String::as_str)
    }

    /// The same judgments on other units: `name` says what each is called, `None` that it is out.
    ///
    /// `None` when a group is left without a unit, so that nothing can cover it. Two units that get
    /// one name become one, with the higher of their grades.
    #[must_use]
    pub fn mapped(&self, name: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let mut made = Self::default();
        for (unit, &grade) in &self.grades {
            if let Some(unit) = name(unit) {
                let own = made.grades.entry(unit).or_insert(grade);
                *own = grade.max(*own);
            }
        }
        for group in &self.groups {
            let units: Vec<String> = group.iter().filter_map(|unit| name(unit)).collect();
            if units.is_empty() {
                return None;
            }
            made.push_group(units);
        }
        Some(made)
    }

    fn push_group(&mut self, units: Vec<String>) {
        let index = self.groups.len();
        let mut seen = BTreeSet::new();
        let units: Vec<String> = units.into_iter().filter(|u| seen.insert(u.clone())).collect();
        for unit in &units {
            self.groups_of.entry(unit.clone()).or_default().push(index);
            self.grades.entry(unit.clone()).or_insert(1);
        }
        self.groups.push(units);
    }

    fn place(&self, unit: &str, covered: &mut [bool]) -> Place {
        let standing = self.standing(unit);
        let grade = f64::from(self.grades.get(unit).copied().unwrap_or(0).max(0));
        let Some(groups) = self.groups_of.get(unit) else {
            return Place { standing, newly_covered: 0, gain: grade };
        };
        let mut newly_covered = 0;
        for &group in groups {
            if let Some(done) = covered.get_mut(group).filter(|done| !**done) {
                *done = true;
                newly_covered += 1;
            }
        }
        Place { standing, newly_covered, gain: grade * newly_covered as f64 }
    }
}

/// The ranking without repeats: each unit at its first place.
///
/// The mission divides precision by what was supplied, and a unit supplied twice was supplied once:
/// of `[a, a, x]` with `a` relevant the precision is 1/2. Report the difference in length.
pub fn distinct<'a>(ranking: &[&'a str]) -> Vec<&'a str> {
    let mut seen = BTreeSet::new();
    ranking.iter().copied().filter(|unit| seen.insert(*unit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_unit_covers_a_group_and_an_equivalent_one_covers_nothing_new() {
        let judgments = Judgments::from_groups([vec!["c3", "t7"], vec!["bat"]]).unwrap();
        let places = judgments.walk(&["t7", "x", "c3", "bat"]);
        let newly: Vec<usize> = places.iter().map(|place| place.newly_covered).collect();
        assert_eq!(newly, [1, 0, 0, 1]);
        assert!(places[2].is_relevant(), "an equivalent unit is not noise");
        assert_eq!(places[2].gain, 0.0);
        assert_eq!(judgments.ideal_gains(), [1.0, 1.0]);
    }

    #[test]
    fn one_unit_may_cover_two_groups() {
        let judgments = Judgments::from_groups([["a", "faq"], ["b", "faq"]]).unwrap();
        assert_eq!(judgments.covered(&["faq"]), 2);
        assert_eq!(judgments.covered(&["b", "x", "a"]), 2);
    }

    #[test]
    fn empty_group_is_refused_and_no_group_is_not_scoreable() {
        let fault = Judgments::from_groups([vec!["a"], vec![]]).unwrap_err();
        assert_eq!(
            fault.to_string(),
            "evidence group 2 is empty; expected at least one unit that answers"
        );
        let none = Judgments::from_groups(Vec::<Vec<String>>::new()).unwrap();
        assert!(!none.is_scoreable());
        assert!(!Judgments::from_qrels([("x", 0), ("y", -1)], 1).is_scoreable());
    }

    #[test]
    fn a_negative_grade_is_unjudged_at_any_level() {
        for level in [-2, 0, 1] {
            let judgments = Judgments::from_qrels([("p", -1), ("q", 0), ("r", 2)], level);
            assert_eq!(judgments.standing("p"), Standing::PoolUnjudged);
            assert_eq!(judgments.walk(&["p"])[0].gain, 0.0);
        }
        let judgments = Judgments::from_qrels([("p", -1), ("q", 0), ("r", 2)], 1);
        assert_eq!(judgments.not_relevant(), 1);
        assert_eq!(judgments.standing("q"), Standing::NotRelevant);
        assert_eq!(judgments.standing("z"), Standing::Unjudged);
        assert_eq!(judgments.ideal_gains(), [2.0]);
    }

    #[test]
    fn the_level_moves_relevance_and_leaves_the_gain() {
        let judgments = Judgments::from_qrels([("a", 1), ("b", 3)], 2);
        assert_eq!(judgments.standing("a"), Standing::NotRelevant);
        assert_eq!(judgments.walk(&["a"])[0].gain, 1.0);
        assert_eq!(judgments.ideal_gains(), [3.0, 1.0]);
    }

    #[test]
    fn grades_may_be_added_to_groups_unless_they_contradict_them() {
        let groups = Judgments::from_groups([["a", "b"]]).unwrap();
        let graded = groups.clone().with_grades([("a", 3), ("x", 0), ("near", 1)]).unwrap();
        assert_eq!(graded.ideal_gains(), [3.0, 1.0]);
        assert_eq!(graded.not_relevant(), 2);
        let fault = groups.with_grades([("a", 0)]).unwrap_err();
        assert!(fault.to_string().contains("listed as evidence, is 0; expected 1 or more"));
    }

    #[test]
    fn units_are_renamed_and_taken_out_until_a_group_is_empty() {
        let judged = Judgments::from_groups([vec!["a", "b"], vec!["c"]]).unwrap();
        let judged = judged.with_grades([("a", 3), ("x", 0)]).unwrap();
        assert_eq!(judged.units().collect::<Vec<_>>(), ["a", "b", "c", "x"]);
        let renamed = judged.mapped(|unit| match unit {
            "b" => Some("a".to_owned()),
            "x" => None,
            other => Some(other.to_owned()),
        });
        let renamed = renamed.unwrap();
        assert_eq!(renamed.groups(), [vec!["a".to_owned()], vec!["c".to_owned()]]);
        assert_eq!(renamed.ideal_gains(), [3.0, 1.0]);
        assert_eq!(renamed.not_relevant(), 0);
        assert_eq!(judged.mapped(|unit| (unit != "c").then(|| unit.to_owned())), None);
    }

    #[test]
    fn repeats_are_seen_once_at_their_first_place() {
        assert_eq!(distinct(&["a", "a", "x", "a"]), ["a", "x"]);
        assert!(distinct(&[]).is_empty());
    }
}
