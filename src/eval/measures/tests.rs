//! Every edge of the definitions: empty lists, nothing relevant, repeats, cuts, equivalent units.

use proptest::prelude::*;

use super::*;

fn score(measure: &str, judgments: &Judgments, ranking: &[&str]) -> Option<f64> {
    parse(measure).unwrap().score(judgments, ranking)
}

fn scores<const N: usize>(
    measures: [&str; N],
    judgments: &Judgments,
    ranking: &[&str],
) -> [Option<f64>; N] {
    measures.map(|measure| score(measure, judgments, ranking))
}

fn close(found: Option<f64>, expected: f64) {
    let found = found.unwrap();
    assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
}

/// One relevant unit, `a`; one judged not relevant, `n`; one in the pool, `u`.
fn one() -> Judgments {
    Judgments::from_qrels([("a", 1), ("n", 0), ("u", -1)], 1)
}

const NATIVE: [&str; 4] = ["hit", "recall", "precision", "rank"];

/// Measures that say `None` when nothing is relevant.
const SCORED: [&str; 17] = [
    "hit",
    "recall",
    "precision",
    "success@5",
    "recall@5",
    "p@5",
    "rprec",
    "mrr",
    "mrr@5",
    "map",
    "map@5",
    "ndcg",
    "ndcg@5",
    "bpref",
    "infap",
    "set_f",
    "iprec@0.50",
];

#[test]
fn the_mission_example_one_of_five() {
    let found = scores(NATIVE, &one(), &["x", "a", "y", "z", "w"]);
    assert_eq!(found, [Some(1.0), Some(1.0), Some(0.2), Some(2.0)]);
    let two = Judgments::from_groups([["a"], ["b"]]).unwrap();
    assert_eq!(score("recall", &two, &["a", "x"]), Some(0.5));
}

#[test]
fn nothing_supplied_is_zero_and_no_rank() {
    assert_eq!(scores(NATIVE, &one(), &[]), [Some(0.0), Some(0.0), Some(0.0), None]);
    for measure in SCORED {
        assert_eq!(score(measure, &one(), &[]), Some(0.0), "{measure}");
    }
    assert_eq!(score("judged@5", &one(), &[]), Some(0.0));
    assert_eq!(score("judged_returned@5", &one(), &[]), None);
    assert_eq!(score("unjudged@5", &one(), &[]), Some(0.0));
}

#[test]
fn a_miss_is_zero_and_no_rank() {
    assert_eq!(scores(NATIVE, &one(), &["x"]), [Some(0.0), Some(0.0), Some(0.0), None]);
}

#[test]
fn nothing_relevant_cannot_be_scored_whatever_was_supplied() {
    let none = Judgments::from_groups(Vec::<Vec<String>>::new()).unwrap();
    let zero = Judgments::from_qrels([("x", 0), ("u", -1)], 1);
    for judgments in [none, zero] {
        for ranking in [&[][..], &["x", "y"]] {
            for measure in SCORED.iter().chain(&["rank", "gm_map"]) {
                assert_eq!(score(measure, &judgments, ranking), None, "{measure}");
            }
            assert_eq!(score("num_ret", &judgments, ranking), Some(ranking.len() as f64));
            assert_eq!(score("num_rel", &judgments, ranking), Some(0.0));
        }
    }
}

#[test]
fn one_of_two_equivalent_blocks_is_a_full_answer() {
    let either = Judgments::from_groups([["ERR-C3-E417", "ERR-T7-E417"]]).unwrap();
    for measure in SCORED.iter().filter(|measure| **measure != "p@5") {
        assert_eq!(score(measure, &either, &["ERR-T7-E417"]), Some(1.0), "{measure}");
    }
    let both = ["ERR-C3-E417", "ERR-T7-E417"];
    assert_eq!(scores(NATIVE, &either, &both), [Some(1.0); 4]);
    assert_eq!(score("p@5", &either, &both), Some(0.4), "an equivalent block is no noise");
    close(score("map", &either, &both), 1.0);
    close(score("ndcg", &either, &both), 1.0);
    assert_eq!(score("num_rel_ret", &either, &both), Some(1.0));
}

#[test]
fn every_group_is_needed() {
    let groups = Judgments::from_groups([vec!["a1", "a2"], vec!["b"]]).unwrap();
    let ranking = ["a1", "a2", "x", "b"];
    assert_eq!(score("recall@3", &groups, &ranking), Some(0.5));
    assert_eq!(score("recall@4", &groups, &ranking), Some(1.0));
    assert_eq!(score("rprec", &groups, &ranking), Some(1.0));
    close(score("map", &groups, &ranking), (1.0 + 3.0 / 4.0) / 2.0);
    close(
        score("ndcg", &groups, &ranking),
        (1.0 + 1.0 / 5_f64.log2()) / (1.0 + 1.0 / 3_f64.log2()),
    );
}

#[test]
fn a_unit_that_answers_two_needs_covers_both_and_nothing_exceeds_one() {
    let faq = Judgments::from_groups([["a", "faq"], ["b", "faq"]]).unwrap();
    for measure in SCORED {
        let value = score(measure, &faq, &["faq"]).unwrap();
        assert!(value <= 1.0, "{measure} is {value}");
    }
    assert_eq!(score("recall", &faq, &["faq"]), Some(1.0));
    assert_eq!(score("ndcg", &faq, &["faq"]), Some(1.0));
    assert_eq!(score("map", &faq, &["faq"]), Some(1.0));
}

#[test]
fn repeats_count_once() {
    let ranking = ["a", "a", "x"];
    assert_eq!(score("precision", &one(), &ranking), Some(0.5), "neither 1/3 nor 2/3");
    assert_eq!(score("p@2", &one(), &ranking), Some(0.5));
    assert_eq!(score("ndcg", &one(), &ranking), Some(1.0), "not 1.63");
    assert_eq!(score("num_ret", &one(), &ranking), Some(2.0));
    let two = Judgments::from_groups([["a"], ["b"]]).unwrap();
    assert_eq!(score("recall", &two, &["a", "a", "a"]), Some(0.5));
}

#[test]
fn a_cut_beyond_the_list_is_no_error() {
    let ranking = ["x", "a"];
    assert_eq!(score("success@100", &one(), &ranking), Some(1.0));
    assert_eq!(score("recall@100", &one(), &ranking), Some(1.0));
    assert_eq!(score("p@100", &one(), &ranking), Some(0.01), "over k, not over what came");
    assert_eq!(score("mrr@100", &one(), &ranking), Some(0.5));
    assert_eq!(score("mrr@1", &one(), &ranking), Some(0.0));
}

#[test]
fn r_precision_divides_by_r_even_when_fewer_came() {
    let four = Judgments::from_qrels([("a", 1), ("b", 1), ("c", 1), ("d", 1)], 1);
    assert_eq!(score("rprec", &four, &["a"]), Some(0.25));
    assert_eq!(score("rprec", &four, &["a", "x", "y", "z", "b"]), Some(0.25));
}

#[test]
fn average_precision_divides_by_all_relevant() {
    let four = Judgments::from_qrels([("a", 1), ("b", 1), ("c", 1), ("d", 1)], 1);
    close(score("map", &four, &["a", "x", "b"]), (1.0 + 2.0 / 3.0) / 4.0);
    close(score("map@1", &four, &["a", "x", "b"]), 0.25);
    close(score("infap", &four, &["a"]), 0.25);
}

#[test]
fn ndcg_takes_linear_gain_and_an_ideal_of_all_judged() {
    let graded = Judgments::from_qrels([("a", 3), ("b", 1)], 1);
    let value = score("ndcg", &graded, &["b", "a"]).unwrap();
    assert_eq!((value * 1000.0).round(), 797.0, "the exponential gain gives 710");
    let five = Judgments::from_qrels(["a", "b", "c", "d", "e"].map(|unit| (unit, 1)), 1);
    assert!(score("ndcg", &five, &["a"]).unwrap() < 0.4, "one good block is no perfect ranking");
    assert_eq!(score("ndcg@1", &five, &["a"]), Some(1.0));
    assert!(score("ndcg@3", &graded, &["b", "a"]) < score("ndcg@3", &graded, &["a", "b"]));
}

#[test]
fn bpref_guards_both_denominators() {
    // No judged unit that is not relevant: 1, where ranx and elinor give NaN.
    assert_eq!(score("bpref", &Judgments::from_qrels([("a", 1)], 1), &["x", "a"]), Some(1.0));
    // Fewer not relevant than relevant: min(N, R) is 1, and the unit above breaks all of it.
    let more = Judgments::from_qrels([("a", 1), ("b", 1), ("n", 0)], 1);
    assert_eq!(score("bpref", &more, &["n", "a", "b"]), Some(0.0));
    assert_eq!(score("bpref", &more, &["a", "n", "b"]), Some(0.5));
    // The correction of 2005: one of two not relevant units is above, one was not retrieved.
    let four = [("a", 1), ("b", 1), ("m", 0), ("n", 0)];
    let even = Judgments::from_qrels(four, 1);
    close(score("bpref", &even, &["m", "a", "b"]), 0.5);
    // Unjudged units are not looked at.
    close(score("bpref", &even, &["m", "x", "y", "a", "b"]), 0.5);
}

#[test]
fn infap_expects_half_of_what_was_pooled_and_never_judged() {
    // Above `a` one pooled unit, none judged: ε / 2ε of it is expected to be relevant.
    close(score("infap", &one(), &["u", "a"]), 0.5 + 0.5 * 0.5);
    // A unit outside the pool is expected not to be.
    close(score("infap", &one(), &["x", "a"]), 0.5);
}

#[test]
fn judged_is_given_over_k_and_over_what_came() {
    let ranking = ["a", "n", "u", "x"];
    assert_eq!(score("judged@8", &one(), &ranking), Some(0.25));
    assert_eq!(score("judged_returned@8", &one(), &ranking), Some(0.5));
    assert_eq!(score("unjudged@8", &one(), &ranking), Some(0.25));
    assert_eq!(score("judged@2", &one(), &ranking), Some(1.0));
}

#[test]
fn the_order_given_is_never_changed() {
    for ranking in [["a", "b", "c"], ["c", "b", "a"], ["b", "a", "c"]] {
        let place = ranking.iter().position(|unit| *unit == "a").unwrap() + 1;
        assert_eq!(score("rank", &one(), &ranking), Some(place as f64));
    }
}

#[test]
fn means_leave_out_what_has_no_value() {
    let values = [Some(1.0), None, Some(0.0)];
    assert_eq!(Combine::Mean.over(values), Some(0.5));
    assert_eq!(Combine::Sum.over(values), Some(1.0));
    assert!((Combine::GeometricMean.over(values).unwrap() - 1e-5_f64.sqrt()).abs() < 1e-12);
    for combine in [Combine::Mean, Combine::MeanOfHits, Combine::GeometricMean, Combine::Sum] {
        assert_eq!(combine.over([None, None]), None);
        assert_eq!(combine.over([]), None);
    }
    assert_eq!(parse("rank").unwrap().combine(), Combine::MeanOfHits);
}

/// Judgments over `a` to `h`, in groups that may overlap, with grades.
fn any_judgments() -> impl Strategy<Value = Judgments> {
    let groups = prop::collection::vec(prop::collection::vec("[a-h]", 1..4), 0..4);
    let grades = prop::collection::btree_map("[a-h]", -1_i32..4, 0..8);
    (groups, grades).prop_map(|(groups, grades)| {
        let judgments = Judgments::from_groups(groups).unwrap();
        let fits = |unit: &String, grade: i32| {
            grade > 0 || judgments.standing(unit) != crate::eval::judgments::Standing::Relevant
        };
        let grades: Vec<_> = grades.into_iter().filter(|(unit, g)| fits(unit, *g)).collect();
        judgments.clone().with_grades(grades).unwrap()
    })
}

proptest! {
    #[test]
    fn every_value_is_a_share(
        judgments in any_judgments(),
        ranking in prop::collection::vec("[a-k]", 0..12),
    ) {
        let ranking: Vec<&str> = ranking.iter().map(String::as_str).collect();
        for measure in SCORED.iter().chain(&["judged@5", "judged_returned@5", "unjudged@5"]) {
            if let Some(value) = score(measure, &judgments, &ranking) {
                // infAP adds an ε above and below its fraction.
                prop_assert!((0.0..=1.0 + 1e-4).contains(&value), "{} is {}", measure, value);
            }
        }
    }

    #[test]
    fn a_deeper_cut_never_loses_a_hit(
        judgments in any_judgments(),
        ranking in prop::collection::vec("[a-k]", 0..12),
        k in 1_usize..12,
    ) {
        let ranking: Vec<&str> = ranking.iter().map(String::as_str).collect();
        for base in ["success", "recall", "map", "mrr"] {
            let at = |k: usize| score(&format!("{base}@{k}"), &judgments, &ranking);
            prop_assert!(at(k) <= at(k + 1), "{}", base);
        }
    }

    #[test]
    fn qrels_and_groups_of_one_agree(
        relevant in prop::collection::btree_set("[a-h]", 1..6),
        ranking in prop::collection::vec("[a-k]", 0..12),
    ) {
        let ranking: Vec<&str> = ranking.iter().map(String::as_str).collect();
        let groups = Judgments::from_groups(relevant.iter().map(|unit| [unit.as_str()])).unwrap();
        let qrels = Judgments::from_qrels(relevant.iter().map(|unit| (unit.as_str(), 1)), 1);
        for measure in SCORED {
            prop_assert_eq!(score(measure, &groups, &ranking), score(measure, &qrels, &ranking));
        }
    }
}
