//! The list of measures, and names read back into them.

use std::num::NonZeroUsize;

use crate::error::{Error, Result, nearest};

use super::{
    AveragePrecision, Bpref, Count, Counted, GeometricMeanAp, Hit, InferredAp,
    InterpolatedPrecision, Judged, JudgedOver, Measure, Ndcg, Precision, PrecisionAt, RPrecision,
    Rank, Recall, ReciprocalRank, SetF, Unjudged,
};

type Made = Box<dyn Measure>;

/// How a family of measures is made from the part after `@`.
enum Make {
    Whole(fn() -> Made),
    Cut(fn(NonZeroUsize) -> Made),
    Share(fn(f64) -> Made),
}

use Make::{Cut, Share, Whole};

/// Every measure: canonical name, other names for it (trec_eval's, ir_measures'), how it is made.
///
/// A new measure is one file and one line here. Other names are in lower case.
const MEASURES: &[(&str, &[&str], Make)] = &[
    ("hit", &["success"], Whole(|| Box::new(Hit { cut: None }))),
    ("recall", &["set_recall", "r"], Whole(|| Box::new(Recall { cut: None }))),
    ("precision", &["set_p"], Whole(|| Box::new(Precision))),
    ("rank", &[], Whole(|| Box::new(Rank))),
    ("success@k", &["hit@k"], Cut(|k| Box::new(Hit { cut: Some(k) }))),
    ("recall@k", &["r@k"], Cut(|k| Box::new(Recall { cut: Some(k) }))),
    ("p@k", &["precision@k"], Cut(|k| Box::new(PrecisionAt { cut: k }))),
    ("rprec", &["r_precision"], Whole(|| Box::new(RPrecision))),
    ("mrr", &["rr", "recip_rank"], Whole(|| Box::new(ReciprocalRank { cut: None }))),
    ("mrr@k", &["rr@k"], Cut(|k| Box::new(ReciprocalRank { cut: Some(k) }))),
    ("map", &["ap"], Whole(|| Box::new(AveragePrecision { cut: None }))),
    ("map@k", &["ap@k", "map_cut@k"], Cut(|k| Box::new(AveragePrecision { cut: Some(k) }))),
    ("ndcg", &[], Whole(|| Box::new(Ndcg { cut: None }))),
    ("ndcg@k", &["ndcg_cut@k"], Cut(|k| Box::new(Ndcg { cut: Some(k) }))),
    ("bpref", &[], Whole(|| Box::new(Bpref))),
    ("infap", &[], Whole(|| Box::new(InferredAp))),
    ("gm_map", &[], Whole(|| Box::new(GeometricMeanAp))),
    ("set_f", &["f1"], Whole(|| Box::new(SetF))),
    (
        "iprec@share",
        &["iprec_at_recall@share"],
        Share(|share| Box::new(InterpolatedPrecision { share })),
    ),
    ("judged@k", &[], Cut(|cut| Box::new(Judged { cut, over: JudgedOver::Cut }))),
    ("judged_returned@k", &[], Cut(|cut| Box::new(Judged { cut, over: JudgedOver::Returned }))),
    ("unjudged@k", &["unj@k"], Cut(|cut| Box::new(Unjudged { cut }))),
    ("num_ret", &[], Whole(|| Box::new(Count(Counted::Returned)))),
    ("num_rel", &[], Whole(|| Box::new(Count(Counted::Relevant)))),
    ("num_rel_ret", &[], Whole(|| Box::new(Count(Counted::RelevantReturned)))),
    ("num_nonrel_judged_ret", &[], Whole(|| Box::new(Count(Counted::NotRelevantReturned)))),
];

/// The canonical names, in the order of the documentation; `k` stands for a whole number from 1 and
/// `share` for a number from 0 to 1.
pub fn names() -> impl Iterator<Item = &'static str> {
    MEASURES.iter().map(|(name, ..)| *name)
}

/// The measure with this name: canonical (`ndcg@10`), of trec_eval (`ndcg_cut_10`) or of ir_measures
/// (`nDCG@10`), in small or capital letters.
///
/// A name that is none of them is refused, with the nearest canonical one.
///
/// ```
/// use atlas::eval::judgments::Judgments;
/// let judgments = Judgments::from_qrels([("a", 3), ("b", 1)], 1);
/// let measure = atlas::eval::measures::parse("ndcg@10")?;
/// let value = measure.score(&judgments, &["b", "a"]).unwrap();
/// assert!((value - 0.797).abs() < 0.001);
/// # Ok::<(), atlas::error::Error>(())
/// ```
pub fn parse(name: &str) -> Result<Made> {
    let asked = Asked::read(name);
    let found = MEASURES.iter().find(|(canonical, others, make)| {
        let wanted = |other: &str| asked.fits(other, make);
        wanted(canonical) || others.iter().any(|other| wanted(other))
    });
    found.and_then(|(.., make)| asked.make(make)).ok_or_else(|| unknown(name, &asked))
}

/// The measures with these names, in the order given.
pub fn parse_all<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Vec<Made>> {
    names.into_iter().map(parse).collect()
}

/// A name as asked for, in two parts: `ndcg@10` and `ndcg_cut_10` are `ndcg`, `10` and `ndcg_cut`,
/// `10`.
struct Asked {
    base: String,
    parameter: Option<String>,
}

impl Asked {
    fn read(name: &str) -> Self {
        let name = name.trim().to_lowercase();
        let is_number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
        let parts =
            name.split_once('@').or_else(|| name.rsplit_once('_').filter(|(_, n)| is_number(n)));
        match parts {
            Some((base, parameter)) => {
                Self { base: base.to_owned(), parameter: Some(parameter.to_owned()) }
            }
            None => Self { base: name, parameter: None },
        }
    }

    fn fits(&self, name: &str, make: &Make) -> bool {
        let base = name.split_once('@').map_or(name, |(base, _)| base);
        base == self.base && self.parameter.is_some() != matches!(make, Whole(_))
    }

    fn make(&self, make: &Make) -> Option<Made> {
        match (make, &self.parameter) {
            (Whole(made), None) => Some(made()),
            (Cut(made), Some(parameter)) => parameter.parse().ok().map(made),
            (Share(made), Some(parameter)) => {
                let share: f64 = parameter.parse().ok()?;
                (0.0..=1.0).contains(&share).then(|| made(share))
            }
            _ => None,
        }
    }
}

fn unknown(name: &str, asked: &Asked) -> Error {
    let listed = || names().collect::<Vec<_>>().join(", ");
    let base = |name: &'static str| name.split_once('@').map_or(name, |(base, _)| base);
    // `ndgc@10` is meant for `ndcg@k` and not for `ndcg`: names of the same shape are tried first.
    let same_shape = |name: &&str| name.contains('@') == asked.parameter.is_some();
    let near = nearest(&asked.base, names().filter(same_shape).map(base))
        .or_else(|| nearest(&asked.base, names().map(base)));
    let meant = names().filter(|name| Some(base(name)) == near).max_by_key(|name| same_shape(name));
    let expected = match meant {
        Some(meant) => {
            let parameter = asked.parameter.as_deref().filter(|p| is_parameter(meant, p));
            let meant = match (meant.split_once('@'), parameter) {
                (Some((base, _)), Some(parameter)) => format!("{base}@{parameter}"),
                (Some((base, "share")), None) => format!("{base}@0.5 (a share from 0 to 1)"),
                (Some((base, _)), None) => format!("{base}@10 (a whole number from 1)"),
                (None, _) => meant.to_owned(),
            };
            format!("perhaps {meant}; the measures are {}", listed())
        }
        None => format!("one of {}", listed()),
    };
    Error::invalid("measure", format!("`{name}`"), expected)
}

fn is_parameter(name: &str, parameter: &str) -> bool {
    if name.ends_with("@share") {
        parameter.parse::<f64>().is_ok_and(|share| (0.0..=1.0).contains(&share))
    } else {
        parameter.parse::<NonZeroUsize>().is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_canonical_name_reads_back_as_itself() {
        for name in names() {
            let asked = name.replace("@k", "@7").replace("@share", "@0.25");
            assert_eq!(parse(&asked).unwrap().name(), asked);
        }
    }

    #[test]
    fn no_name_has_two_meanings() {
        let mut seen = std::collections::BTreeSet::new();
        for (name, others, make) in MEASURES {
            for name in others.iter().chain([name]) {
                let base = name.split_once('@').map_or(*name, |(base, _)| base);
                assert_eq!(name.contains('@'), !matches!(make, Whole(_)), "{name}");
                assert!(seen.insert((base, name.contains('@'))), "{name} is listed twice");
            }
        }
    }

    #[test]
    fn names_of_other_tools_are_understood() {
        let pairs = [
            ("P_5", "p@5"),
            ("recall_100", "recall@100"),
            ("map_cut_10", "map@10"),
            ("ndcg_cut_20", "ndcg@20"),
            ("success_1", "success@1"),
            ("hit@3", "success@3"),
            ("recip_rank", "mrr"),
            ("RR@10", "mrr@10"),
            ("Rprec", "rprec"),
            ("AP", "map"),
            ("nDCG@10", "ndcg@10"),
            ("infAP", "infap"),
            ("set_P", "precision"),
            ("set_recall", "recall"),
            ("set_F", "set_f"),
            ("iprec_at_recall_0.10", "iprec@0.10"),
            ("unj_20", "unjudged@20"),
            (" R@5 ", "recall@5"),
        ];
        for (asked, canonical) in pairs {
            assert_eq!(parse(asked).unwrap().name(), canonical, "{asked}");
        }
        assert_eq!(parse_all(["map", "p@1"]).unwrap().len(), 2);
    }

    #[test]
    fn a_wrong_name_is_refused_with_the_nearest_right_one() {
        let said = |name: &str| parse(name).unwrap_err().to_string();
        assert!(said("ndgc@10").starts_with(
            "measure is `ndgc@10`; expected perhaps ndcg@10; the measures are hit, recall,"
        ));
        assert!(said("recal").contains("perhaps recall;"));
        assert!(said("p").contains("perhaps p@10 (a whole number from 1);"), "{}", said("p"));
        assert!(said("ndcg@0").contains("perhaps ndcg@10 (a whole number from 1);"));
        assert!(said("ndcg@ten").contains("perhaps ndcg@10 (a whole number from 1);"));
        assert!(said("judged").contains("perhaps judged@10"));
        assert!(said("iprec@2").contains("perhaps iprec@0.5 (a share from 0 to 1);"));
        assert!(said("bprf@5").contains("perhaps bpref;"), "{}", said("bprf@5"));
        assert!(said("zzz").contains("expected one of hit, recall,"));
        assert!(said("").contains("expected one of hit, recall,"));
    }
}
